import { createHash } from 'node:crypto';
import type { Database } from '@tessera/stores';
import { Code } from '@tessera/rpc';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { migrations } from '../index.ts';
import { call, startRecords } from '../testing/start-records.ts';

let database: Database;

beforeAll(async () => {
  database = await testDatabase(migrations);
});

const secret = 'a-secret-that-only-the-provider-knows';
const okta = {
  name: 'okta',
  preset: 'okta',
  issuer: 'https://acme.okta.example',
  clientId: 'tessera',
  clientSecret: secret,
};

/** YAML is a superset of JSON. */
function tenant(id: string, providers: readonly object[], keys: object = {}): string {
  return JSON.stringify({ tenants: [{ id, name: id, ...keys, providers }] });
}

function start(settings: Readonly<Record<string, string>> = {}) {
  const { files, api } = startRecords(database, { settings });
  const of = (document: string) => ({ document, fileName: 'state.yaml' });
  return {
    api,
    apply: async (document: string, owner = '') =>
      files.apply({ ...of(document), owner, allowDelete: true }, call()),
    async differences(document: string) {
      const { tenants } = await files.diff(of(document), call());
      return tenants[0]?.differences.map(({ kind, name, change, keys }) => [kind, name, change, keys]);
    },
    text: (tenantId: string) => files.written(tenantId, call()),
  };
}

async function sealedSecretOf(tenantId: string, name = 'okta'): Promise<string | undefined> {
  const { rows } = await database.query<{ sealed_secret: string }>({
    name: 'test.sealed_secret',
    text: 'SELECT sealed_secret FROM directory.provider WHERE tenant_id = $1 AND name = $2',
    values: [tenantId, name],
  });
  return rows[0]?.sealed_secret;
}

async function eventsOf(tenantId: string) {
  const { rows } = await database.query<{ event: string; details: unknown }>({
    name: 'test.provider_events',
    text: `SELECT event, record -> 'details' AS details FROM directory.audit_event
            WHERE tenant_id = $1 AND event LIKE 'provider.%' ORDER BY event_id`,
    values: [tenantId],
  });
  return rows.map(({ event, details }) => [event, details]);
}

const problemOf = async (document: string): Promise<string> =>
  start()
    .apply(document)
    .then(
      () => '',
      (error: { rawMessage: string }) => error.rawMessage.replace(/^state\.yaml:\d+:\d+: /, ''),
    );

describe('a provider in the declared state', () => {
  it('is written as it was declared, without its secret, and may be applied again as it is written', async () => {
    const directory = start();
    const full = { ...okta, displayName: 'Acme', domains: ['acme.example'], linking: 'verified-email' };
    await directory.apply(tenant('written', [{ ...full, scopes: ['openid'], createsAccounts: true }]));
    const text = await directory.text('written');
    const { clientSecret: _, ...without } = full;
    expect(parse(text)).toEqual({
      tenants: [
        {
          id: 'written',
          name: 'written',
          providers: [{ ...without, scopes: ['openid'], createsAccounts: true }],
        },
      ],
    });
    const again = await directory.apply(text);
    expect(again.tenants[0]).toMatchObject({ unchanged: true });
  });

  it('has the defaults of its preset, and those of keys that are left out', async () => {
    const directory = start();
    const { preset: _, ...plain } = okta;
    const google = { name: 'google', preset: 'google', clientId: 'tessera', clientSecret: secret };
    await directory.apply(tenant('defaults', [google, plain]));
    const providers = [
      {
        name: 'google',
        preset: 'google',
        issuer: 'https://accounts.google.com',
        clientId: 'tessera',
        displayName: 'Google',
      },
      { name: 'okta', issuer: okta.issuer, clientId: 'tessera', displayName: 'okta' },
    ];
    expect(parse(await directory.text('defaults'))).toEqual({
      tenants: [{ id: 'defaults', name: 'defaults', providers }],
    });
  });

  it('has its secret stored encrypted, and anew only if it is another one', async () => {
    const directory = start();
    await directory.apply(tenant('sealed', [okta]));
    const sealed = await sealedSecretOf('sealed');
    expect(sealed).toMatch(/^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(sealed).not.toContain(secret);
    await directory.apply(tenant('sealed', [okta]));
    expect(await sealedSecretOf('sealed')).toBe(sealed);
    const rotated = tenant('sealed', [{ ...okta, clientSecret: 'another' }]);
    expect(await directory.differences(rotated)).toEqual([['provider', 'okta', 'updated', ['clientSecret']]]);
    await directory.apply(rotated);
    expect(await sealedSecretOf('sealed')).not.toBe(sealed);
  });

  it('keeps its secret only for the issuer and client that it was declared for', async () => {
    const directory = start();
    await directory.apply(tenant('bound', [okta]));
    const sealed = await sealedSecretOf('bound');
    const { clientSecret: _, ...without } = okta;
    await directory.apply(tenant('bound', [{ ...without, displayName: 'Work' }]));
    expect(await sealedSecretOf('bound')).toBe(sealed);
    const missing =
      'tenants[0].providers[0].clientSecret: is required for a new provider, and if issuer or clientId change';
    for (const changed of [{ issuer: 'https://evil.example' }, { clientId: 'other' }, { name: 'renamed' }])
      expect(await problemOf(tenant('bound', [{ ...without, ...changed }]))).toBe(missing);
    await directory.apply(tenant('bound', [{ ...okta, clientId: 'other' }]));
    expect(await sealedSecretOf('bound')).not.toBe(sealed);
  });

  it('gets its secret sealed anew if the pepper was replaced', async () => {
    await start().apply(tenant('peppered', [okta]));
    const sealed = await sealedSecretOf('peppered');
    await database.query({ name: 'test.forget_pepper', text: 'DELETE FROM directory.pepper_check' });
    const pepper = createHash('sha256').update('another').digest('base64');
    await start({ TESSERA_DIRECTORY_PEPPER: pepper }).apply(tenant('peppered', [okta]));
    expect(await sealedSecretOf('peppered')).not.toBe(sealed);
    await database.query({ name: 'test.forget_pepper', text: 'DELETE FROM directory.pepper_check' });
  });

  it('leaves audit rows that name what happened, and no secret', async () => {
    const directory = start();
    await directory.apply(tenant('audited', [okta]));
    await directory.apply(
      tenant('audited', [{ ...okta, clientSecret: 'another', linking: 'verified-email' }]),
    );
    await directory.apply(tenant('audited', []));
    expect(await eventsOf('audited')).toEqual([
      ['provider.created', { provider: 'okta', issuer: okta.issuer }],
      ['provider.updated', { provider: 'okta', changed: 'linking clientSecret' }],
      ['provider.deleted', { provider: 'okta' }],
    ]);
  });

  it('belongs to the owner of its file, and its tenant is deleted only without it', async () => {
    const directory = start();
    await directory.apply(tenant('owned', []));
    const reference = (provider: object) =>
      JSON.stringify({ tenants: [{ id: 'owned', providers: [provider] }] });
    await directory.apply(reference(okta), 'sso');
    await directory.apply(tenant('owned', []));
    expect(await sealedSecretOf('owned')).toBeDefined();
    await expect(directory.apply(tenant('owned', [{ ...okta, displayName: 'Mine' }]))).rejects.toThrow(
      'provider okta, of the owner "sso"',
    );
    const { api } = directory;
    const deletion = { tenantId: 'owned', takeOver: true };
    await expect(api.tenants.delete(deletion, call())).rejects.toMatchObject({
      code: Code.FailedPrecondition,
    });
    await directory.apply(JSON.stringify({ tenants: [{ id: 'owned' }] }), 'sso');
    await api.tenants.delete(deletion, call());
  });

  it('shares no domain with another provider of its tenant, whoever owns that', async () => {
    const directory = start();
    const atAcme = { ...okta, domains: ['acme.example'] };
    const second = { ...atAcme, name: 'second' };
    const twice =
      'domains[0]: is declared twice, here or by another owner; a domain belongs to one provider of its tenant';
    expect(await problemOf(tenant('domains', [atAcme, second]))).toBe(`tenants[0].providers[1].${twice}`);
    await directory.apply(tenant('domains', [atAcme]));
    const byOther = directory.apply(
      JSON.stringify({ tenants: [{ id: 'domains', providers: [second] }] }),
      'sso',
    );
    await expect(byOther).rejects.toThrow(`tenants[0].providers[0].${twice}`);
  });

  const entra = { ...okta, preset: 'entra' };
  it.each([
    ['issuer', 'is required', { ...okta, issuer: undefined }],
    ['issuer', 'must not have a query', { ...okta, issuer: 'https://a.example/?b' }],
    ['issuer', 'With http its host must be localhost', { ...okta, issuer: 'http://a.example' }],
    ['issuer', 'must be an https URL', { ...okta, issuer: 'ftp://a.example' }],
    ['issuer', 'is the issuer of the tenant itself', { ...okta, issuer: 'https://login.acme.example' }],
    [
      'issuer',
      'must name one directory, as https://login.microsoftonline.com/<directory id>/v2.0 does',
      { ...entra, issuer: 'https://login.microsoftonline.com/common/v2.0' },
    ],
    ['issuer', 'must end with /v2.0', { ...entra, issuer: 'https://login.microsoftonline.com/acme' }],
    ['scopes', 'must have openid', { ...okta, scopes: ['email'] }],
    [
      'domains[0]',
      'must be a domain in lower case, such as acme.example, with international labels as xn--bcher-kva.example',
      { ...okta, domains: ['Acme.example'] },
    ],
    ['clientSecret', 'must be printable ASCII', { ...okta, clientSecret: 'ä' }],
  ])('is refused for its %s: %s', async (key, message, declared) => {
    const document = tenant('refused', [declared], { issuer: 'https://login.acme.example' });
    expect(await problemOf(document)).toContain(`tenants[0].providers[0].${key}: ${message}`);
  });
});
