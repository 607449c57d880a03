import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { readDeclaredState } from '../declared/read.ts';
import { warningsIn } from '../declared/warnings.ts';
import { migrations } from '../index.ts';
import { call, startRecords } from '../testing/start-records.ts';

const issuer = 'https://oidc.eks.example/id/1';
const subject = 'system:serviceaccount:shop:orders';
const jwk = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' };

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

function documentOf(tenant: string, ...applications: readonly object[]): string {
  const usual = { name: 'Orders', type: 'confidential', grantTypes: ['client_credentials'] };
  const declared = applications.map((application, index) => ({
    clientId: `${tenant}-${index}`,
    ...usual,
    ...application,
  }));
  return JSON.stringify({ tenants: [{ id: tenant, name: tenant, applications: declared }] });
}

describe('the trusts of applications', () => {
  it.each([
    [
      'a public application',
      { type: 'public', grantTypes: ['device_code'], trusts: [{ issuer, subject }] },
      /cannot authenticate/,
    ],
    ['plain text as an issuer', { trusts: [{ issuer: 'cluster', subject }] }, /must be an https URL/],
    [
      'an issuer with a query',
      { trusts: [{ issuer: 'https://a.example?x', subject }] },
      /must be an https URL/,
    ],
    [
      'the default service account of a namespace without sharedIdentity',
      { trusts: [{ issuer, subject: 'system:serviceaccount:shop:default' }] },
      /every pod of the namespace/,
    ],
    [
      'the default service account as a SPIFFE ID without sharedIdentity',
      { trusts: [{ issuer: 'spiffe://prod.example', subject: 'spiffe://prod.example/ns/shop/sa/default' }] },
      /every pod of the namespace/,
    ],
    [
      'sharedIdentity for another subject',
      { trusts: [{ issuer, subject, sharedIdentity: true }] },
      /service account default/,
    ],
    [
      'a SPIFFE ID of another trust domain',
      { trusts: [{ issuer: 'spiffe://prod.example', subject: 'spiffe://test.example/orders' }] },
      /in the trust domain/,
    ],
    [
      'one twice',
      {
        trusts: [
          { issuer, subject },
          { issuer, subject, maxAge: '1m' },
        ],
      },
      /listed twice/,
    ],
    [
      'keys in two places',
      { publicKeys: [jwk], jwksUri: 'https://a.example/keys' },
      /in place of publicKeys/,
    ],
    ['a private key', { publicKeys: [{ ...jwk, d: 'secret' }] }, /must be a public key/],
    ['a symmetric key', { publicKeys: [{ kty: 'oct', k: 'x' }] }, /must be a public key/],
    [
      'a key with values within values',
      { publicKeys: [{ ...jwk, x5c: [[[]]] }] },
      /no members but the texts/,
    ],
    ['a key whose kid is a list', { publicKeys: [{ ...jwk, kid: [] }] }, /no members but the texts/],
    [
      'a key with a long text',
      { publicKeys: [{ ...jwk, kid: 'k'.repeat(1_001) }] },
      /no members but the texts/,
    ],
    [
      'an RSA key that is dear to verify with',
      { publicKeys: [{ kty: 'RSA', n: Buffer.alloc(513, 255).toString('base64url'), e: 'AQAB' }] },
      /at most 4096/,
    ],
    [
      'an RSA key with a long e',
      { publicKeys: [{ kty: 'RSA', n: Buffer.alloc(256, 255).toString('base64url'), e: 'AQABAQAB' }] },
      /an e of at most 4 bytes/,
    ],
    ['a short RSA key', { publicKeys: [{ kty: 'RSA', n: 'AQAB', e: 'AQAB' }] }, /2048 bits/],
    [
      'the jwt_bearer grant without trusts',
      { publicKeys: [jwk], grantTypes: ['jwt_bearer'] },
      /needs trusts/,
    ],
  ])('may not be %s', async (_, application, message) => {
    const { files } = startRecords(database);
    const applied = files.apply({ document: documentOf('wrong', application) }, call());
    await expect(applied).rejects.toThrow(message);
    await expect(applied).rejects.not.toThrow(/"secret"/);
  });

  it('stand in for a secret, are written as declared, and stay with a file of another field', async () => {
    const { files } = startRecords(database);
    const trusts = [{ issuer, subject: `${subject}-kept`, maxAge: 600 }];
    await files.apply({ document: documentOf('kept', { trusts, publicKeys: [jwk] }) }, call());
    const written = await files.written('kept', call());
    expect(written).toContain(`${subject}-kept`);
    const again = await files.apply({ document: written }, call());
    expect(again.tenants[0]).toMatchObject({ unchanged: true });
  });

  it('are unique over the deployment, in whatever order and way they come', async () => {
    const { files, api } = startRecords(database);
    const trusts = [{ issuer, subject }];
    await files.apply({ document: documentOf('first', { trusts }) }, call());
    const other = files.apply({ document: documentOf('second', { trusts }) }, call());
    await expect(other).rejects.toThrow(/trusts\[0\]: is trusted by another application already/);
    const twice = files.apply({ document: documentOf('third', { trusts }, { trusts }) }, call());
    await expect(twice).rejects.toThrow(/trusts\[0\]: is trusted by another application already/);
    const application = {
      clientId: 'first-api',
      name: 'A',
      type: 'confidential',
      grantTypes: ['client_credentials'],
    };
    const created = api.applications.create(
      { tenantId: 'first', application: { ...application, trusts } },
      call(),
    );
    await expect(created).rejects.toMatchObject({ code: 6 });
    // Another audience is another trust.
    await files.apply(
      { document: documentOf('second', { trusts: [{ ...trusts[0], audience: 'two' }] }) },
      call(),
    );
    // Within a tenant one application may hand it to another one.
    const secrets = [{ value: 'a secret of the application, which is long' }];
    await files.apply({ document: documentOf('first', { secrets }, { trusts }) }, call());
    await files.apply({ document: documentOf('first', { secrets }), allowDelete: true }, call());
    await files.apply({ document: documentOf('third', { trusts }) }, call());
  });

  it('name no issuer of ours, neither as whom they trust nor as their audience', async () => {
    const ours = 'https://id.example';
    const { files, api } = startRecords(database, { settings: { TESSERA_ISSUER: ours } });
    const theirs = 'https://of-a-tenant.example/path';
    const tenant = { id: 'with-issuer', name: 'W', issuer: theirs };
    await files.apply({ document: JSON.stringify({ tenants: [tenant] }) }, call());
    const wrong = [ours, theirs].flatMap((name) => [
      { issuer: name, subject: 'a' },
      { issuer, subject: 'a', audience: name },
    ]);
    for (const trust of wrong) {
      const applied = files.apply({ document: documentOf('of-ours', { trusts: [trust] }) }, call());
      await expect(applied).rejects.toThrow(/trusts\[0\]: names an issuer of ours/);
    }
    const usual = { name: 'A', type: 'confidential', grantTypes: ['client_credentials'] };
    for (const trust of wrong) {
      const application = { clientId: 'of-ours', ...usual, trusts: [trust] };
      const created = api.applications.create({ tenantId: 'with-issuer', application }, call());
      await expect(created).rejects.toThrow(/names an issuer of ours/);
    }
    const atOnce = { id: 'at-once', name: 'O', issuer: 'https://at-once.example' };
    const read: unknown = JSON.parse(
      documentOf('at-once', { trusts: [{ issuer, subject, audience: atOnce.issuer }] }),
    );
    const document = JSON.stringify({
      tenants: [{ ...(read as { tenants: object[] }).tenants[0], ...atOnce }],
    });
    await expect(files.apply({ document }, call())).rejects.toThrow(/names an issuer of ours/);
  });

  it('are given to one of several that ask for it at once', async () => {
    const { files, api } = startRecords(database);
    const tenants = ['race-1', 'race-2'];
    for (const tenant of tenants)
      await files.apply({ document: JSON.stringify({ tenants: [{ id: tenant, name: tenant }] }) }, call());
    const trusts = [{ issuer, subject: `${subject}-race` }];
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => {
        const clientId = `race-${index}`;
        const application = {
          clientId,
          name: 'A',
          type: 'confidential',
          grantTypes: ['client_credentials'],
          trusts,
        };
        return api.applications.create({ tenantId: tenants[index % 2] ?? '', application }, call());
      }),
    );
    expect(results.map(({ status }) => status).toSorted()).toEqual([
      'fulfilled',
      ...Array(7).fill('rejected'),
    ]);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 6 });
  });

  it('in a default service account are warned of', () => {
    const trusts = [{ issuer, subject: 'system:serviceaccount:shop:default', sharedIdentity: true }];
    const { state } = readDeclaredState(documentOf('shared', { trusts }), 'state.yaml', 8);
    expect(warningsIn(state.tenants).join()).toMatch(
      /every pod of the namespace that names no service account can be the application shared-0/,
    );
  });

  it('make their issuer announce what they need, and others nothing', async () => {
    const { files, as } = startRecords(await testDatabase(migrations));
    const before = await as('gateway').listTenantIssuers({}, call());
    expect(before.sharedDeclaredUse).toMatchObject({
      authenticationMethods: [],
      grantTypes: [],
      idTokenAlgorithms: [],
    });
    const trusts = [{ issuer: 'spiffe://prod.example', subject: 'spiffe://prod.example/orders' }];
    const document = documentOf('uses', {
      trusts,
      grantTypes: ['jwt_bearer'],
      idTokenSigningAlgorithm: 'ES256',
    });
    await files.apply({ document }, call());
    const after = await as('gateway').listTenantIssuers({}, call());
    expect(after.sharedDeclaredUse).toMatchObject({
      authenticationMethods: ['spiffe_jwt'],
      grantTypes: ['jwt_bearer'],
      idTokenAlgorithms: ['ES256'],
    });
    expect(after.sharedSigningAlgorithms).toEqual(['ES256']);
  });
});
