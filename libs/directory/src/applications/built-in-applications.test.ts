import { adminScopes, assertionTypes } from '@tessera/oauth';
import { Code } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { startFakeIssuer } from '../testing/fake-issuer.ts';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

/** A directory that may have an operator tenant, with three tenants. */
async function started(settings: Readonly<Record<string, string>> = {}) {
  const directory = startRecords(database, { settings });
  const document = `tenants:
  - { id: operators, name: Operators }
  - { id: acme, name: Acme, issuer: 'https://login.acme.example' }
  - { id: globex, name: Globex }
`;
  await directory.files.apply({ document, fileName: 'state.yaml' }, call());
  return directory;
}

describe('the command line as an application', () => {
  it.each([
    ['tessera.cli', 'operators'],
    ['tessera.cli.operators', 'operators'],
    ['tessera.cli.acme', 'acme'],
    ['tessera.cli.globex', 'globex'],
  ])('%s exists without a record, for the administrators of %s', async (clientId, tenantId) => {
    const { as } = await started({ TESSERA_OPERATOR_TENANT: 'operators' });
    const { application, tenant } = await as('token').getApplication({ clientId }, call());
    expect(application).toMatchObject({
      clientId,
      tenantId,
      grantTypes: ['device_code', 'refresh_token'],
      redirectUris: [],
      allowedRoles: ['tessera.administrator', 'tessera.auditor', 'tessera.helpdesk'],
      lifetimes: { refreshTokenIdle: 604_800, refreshTokenAbsolute: 2_592_000 },
    });
    expect(tenant).toMatchObject({ tenantId });
    expect(application?.scopes.map(({ name, audience }) => [name, audience])).toEqual([
      ['offline_access', ''],
      ...[...adminScopes.keys()].map((name) => [name, 'urn:tessera:admin']),
    ]);
  });

  it.each(['any', 'second-factor', 'phishing-resistant'])(
    'asks for %s where the setting says so, and for what the tenant does besides',
    async (policy) => {
      const settings = { TESSERA_OPERATOR_TENANT: 'operators', TESSERA_CLI_LOGIN: policy };
      const { as } = await started(settings);
      for (const clientId of ['tessera.cli', 'tessera.cli.acme'])
        expect((await as('authorize').getApplication({ clientId }, call())).application).toMatchObject({
          authenticationPolicy: policy,
        });
    },
  );

  it.each(['tessera.cli', 'tessera.cli.operators', 'tessera.cli.acme', 'tessera.cli.globex'])(
    '%s does not exist where it is switched off',
    async (clientId) => {
      const { as } = await started({ TESSERA_OPERATOR_TENANT: 'operators', TESSERA_CLI_LOGIN: 'off' });
      for (const caller of ['token', 'device', 'admin'] as const)
        await expect(as(caller).getApplication({ clientId }, call())).rejects.toMatchObject({
          code: Code.NotFound,
        });
    },
  );

  it('has a setting that is refused where it is unknown', () => {
    expect(() => startRecords(database, { settings: { TESSERA_CLI_LOGIN: 'none' } })).toThrow(
      'TESSERA_CLI_LOGIN',
    );
  });

  it.each(['tessera.cli', 'tessera.cli.nobody', 'tessera.cli.', 'tessera.other'])(
    '%s does not exist where nobody administers',
    async (clientId) => {
      const { as } = await started();
      await expect(as('token').getApplication({ clientId }, call())).rejects.toMatchObject({
        code: Code.NotFound,
      });
    },
  );

  it('is no application that a tenant declares', async () => {
    const { api, files } = await started();
    const tv = { clientId: 'tessera.cli', name: 'TV', type: 'public', grantTypes: ['device_code'] };
    await expect(
      api.applications.create({ tenantId: 'globex', application: tv }, call()),
    ).rejects.toMatchObject({ code: Code.InvalidArgument });
    const document = `tenants: [{ id: globex, applications: [${JSON.stringify(tv)}] }]`;
    await expect(files.apply({ document, fileName: 'x.yaml' }, call())).rejects.toThrow(
      'must not begin with',
    );
  });
});

describe('the console as an application', () => {
  const secret = 'the secret of the console in this test';
  const settings = {
    TESSERA_OPERATOR_TENANT: 'operators',
    TESSERA_CONSOLE_URL: 'https://console.example',
    TESSERA_CONSOLE_SECRET: secret,
  };

  it.each([
    ['tessera.console', 'operators'],
    ['tessera.console.acme', 'acme'],
  ])(
    '%s exists without a record where it is switched on, for the administrators of %s',
    async (clientId, tenantId) => {
      const { as } = await started({ ...settings, TESSERA_CONSOLE_LOGIN: 'second-factor' });
      const { application, tenant } = await as('token').getApplication({ clientId }, call());
      expect(application).toMatchObject({
        clientId,
        tenantId,
        grantTypes: ['authorization_code'],
        redirectUris: ['https://console.example/console/callback'],
        allowedRoles: ['tessera.administrator', 'tessera.auditor', 'tessera.helpdesk'],
        authenticationPolicy: 'second-factor',
        lifetimes: { accessToken: 300 },
        pkceOptional: false,
      });
      expect(tenant).toMatchObject({ tenantId });
    },
  );

  it('has the one secret of the setting', async () => {
    const { as } = await started(settings);
    const verified = async (clientSecret: string) =>
      (await as('token').verifyApplicationSecret({ clientId: 'tessera.console.acme', clientSecret }, call()))
        .verified;
    expect(await verified(secret)).toBe(true);
    for (const wrong of ['', `${secret} `, secret.slice(1)]) expect(await verified(wrong)).toBe(false);
  });

  it('may prove who it is by a token of its platform in place of a secret, at every issuer (RFC 7523 §2.2)', async () => {
    const platform = await startFakeIssuer();
    const { TESSERA_CONSOLE_SECRET: _, ...others } = settings;
    const subject = 'system:serviceaccount:id:tessera-admin';
    const { as } = await started({
      ...others,
      TESSERA_ISSUER: 'https://id.example',
      TESSERA_ALLOW_PRIVATE: 'issuers',
      TESSERA_CONSOLE_IDENTITY: `${platform.issuer}=${subject}`,
    });
    const verify = async (clientId: string, claims: object = {}) => {
      const assertion = await platform.token({
        claims: { sub: subject, aud: ['https://id.example'], ...claims },
      });
      const assertionType = assertionTypes.private_key_jwt;
      const issuer = 'https://login.acme.example';
      return as('token').verifyClientAssertion({ assertion, assertionType, clientId, issuer }, call());
    };
    for (const [clientId, tenantId] of [
      ['tessera.console', 'operators'],
      ['tessera.console.acme', 'acme'],
    ] as const)
      expect(await verify(clientId)).toMatchObject({ clientId, tenantId, refusal: '' });
    for (const [clientId, claims] of [
      ['tessera.console', { sub: 'system:serviceaccount:id:default' }],
      ['tessera.cli', {}],
      ['', {}],
    ] as const)
      expect(await verify(clientId, claims)).toMatchObject({ clientId: '', refusal: 'assertion_trust' });
    expect((await verify('tessera.console', { aud: 'https://api.example' })).refusal).toBe(
      'assertion_audience',
    );
    const { application } = await as('token').getApplication({ clientId: 'tessera.console' }, call());
    expect(application?.type).toBeDefined();
    const asked = { clientId: 'tessera.console', clientSecret: '' };
    expect((await as('token').verifyApplicationSecret(asked, call())).verified).toBe(false);
  });

  it('does not exist where it is not switched on', async () => {
    const { as } = await started({ TESSERA_OPERATOR_TENANT: 'operators' });
    const clientId = 'tessera.console';
    await expect(as('token').getApplication({ clientId }, call())).rejects.toMatchObject({
      code: Code.NotFound,
    });
    const asked = { clientId, clientSecret: secret };
    expect((await as('token').verifyApplicationSecret(asked, call())).verified).toBe(false);
  });

  it('comes back to any port of this machine where npm start takes a free one (RFC 8252 section 7.3)', async () => {
    const { as } = await started({ ...settings, TESSERA_CONSOLE_URL: 'http://127.0.0.1' });
    const { application } = await as('token').getApplication({ clientId: 'tessera.console' }, call());
    expect(application).toMatchObject({
      redirectUris: ['http://127.0.0.1/console/callback'],
      anyLoopbackPort: true,
    });
  });

  it.each([
    [{ TESSERA_CONSOLE_URL: 'http://console.example' }, 'TESSERA_CONSOLE_URL'],
    [{ TESSERA_CONSOLE_URL: 'https://console.example/console' }, 'TESSERA_CONSOLE_URL'],
    [{ TESSERA_CONSOLE_SECRET: '' }, 'TESSERA_CONSOLE_SECRET'],
    [{ TESSERA_CONSOLE_IDENTITY: 'system:serviceaccount:id:console' }, 'TESSERA_CONSOLE_IDENTITY'],
  ])('refuses to start with %j', (changed, named) => {
    expect(() => startRecords(database, { settings: { ...settings, ...changed } })).toThrow(named);
  });
});
