import { pbkdf2Sync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { migrations } from '@tessera/directory';
import { buildDirectory, directoryProcessConfig } from '@tessera/people';
import { loadConfig } from '@tessera/process';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { local, rootCall } from '@tessera/rpc';
import { silentLog, testDatabase, testRuntime } from '@tessera/test-kit';
import { parse } from 'yaml';
import { moved, movedClient } from '../testing/moved-realm.ts';
import { file, pepper, printed, serving } from '../testing/run-command.ts';

/** A directory, the command beside it, and who signs in. */
async function world() {
  const config = loadConfig(directoryProcessConfig, { TESSERA_DIRECTORY_PEPPER: pepper });
  const runtime = testRuntime({ database: await testDatabase(migrations), log: silentLog() });
  const directory = buildDirectory(config, {}, runtime);
  const environment = await serving(directory, 'directory');
  const authorize = local(DirectoryService, directory, 'authorize', silentLog());
  const run = async (words: string, input = '') => printed(words, environment, undefined, input);
  return {
    run,
    async users(tenant: string) {
      const { out } = await run(`user list --tenant ${tenant} --output json`);
      return JSON.parse(out) as readonly Readonly<Record<string, unknown>>[];
    },
    async applications(tenant: string) {
      const { out } = await run(`get --tenant ${tenant}`);
      const { tenants } = parse(out) as { readonly tenants: readonly { readonly applications: object[] }[] };
      return tenants[0]?.applications ?? [];
    },
    async signsIn(tenantId: string, identifier: string, password: string) {
      const attempt = { tenantId, identifier, password, ipAddress: '192.0.2.1' };
      const { user } = await authorize.verifyPassword(attempt, rootCall('a-request', 30_000));
      return user !== undefined;
    },
  };
}

const pkce = { 'pkce.code.challenge.method': 'S256' };
const app = {
  clientId: 'shape-app',
  publicClient: true,
  redirectUris: ['http://localhost:9/s'],
  attributes: pkce,
};
const text = (more: object) => JSON.stringify({ realm: 'harbour', clients: [app], ...more });

describe('the field report', () => {
  it('passwords in plain text and hashes of Keycloak before 8 sign in; temporary ones do not', async () => {
    const { run, signsIn } = await world();
    const salt = Buffer.from('0123456789abcdef');
    const old = {
      type: 'password',
      hashedSaltedValue: pbkdf2Sync('the old password 1', salt, 20_000, 64, 'sha1').toString('base64'),
      salt: salt.toString('base64'),
      hashIterations: 20_000,
      algorithm: 'pbkdf2',
    };
    const plain = { type: 'password', value: 'plain text password 1' };
    const users = [
      { username: 'p-plain', enabled: true, credentials: [plain] },
      { username: 'p-temp', enabled: true, credentials: [{ ...plain, temporary: true }] },
      { username: 'p-old', enabled: true, credentials: [old] },
    ];
    const { code, said, out } = await run('import keycloak -', text({ users }));
    expect(code, said).toBe(0);
    expect(out).toContain(
      'left out: password of user p-temp: is a temporary one; they need a link to set one\n',
    );
    expect(await signsIn('harbour', 'p-plain', 'plain text password 1')).toBe(true);
    expect(await signsIn('harbour', 'p-plain', 'plain text password 2')).toBe(false);
    expect(await signsIn('harbour', 'p-temp', 'plain text password 1')).toBe(false);
    expect(await signsIn('harbour', 'p-old', 'the old password 1')).toBe(true);
    expect(await signsIn('harbour', 'p-old', 'the old password 2')).toBe(false);
  });

  it('consent, narrow roles, second factor and bound tokens come, or the application comes disabled', async () => {
    const { run, applications } = await world();
    const clients = [
      { ...app, clientId: 'asks', consentRequired: true },
      { ...app, clientId: 'narrow', fullScopeAllowed: false },
      { ...app, clientId: 'mfa', authenticationFlowBindingOverrides: { browser: 'otp-flow-id' } },
      { ...app, clientId: 'bound', attributes: { ...pkce, 'dpop.bound.access.tokens': 'true' } },
    ];
    const { out } = await run('import keycloak -', text({ clients }));
    expect(await applications('harbour')).toMatchObject([
      { clientId: 'asks', thirdParty: true },
      { clientId: 'bound', status: 'disabled' },
      { clientId: 'mfa', status: 'disabled' },
      { clientId: 'narrow', roles: ['keycloak:no-roles'] },
    ]);
    for (const name of ['bound', 'mfa'])
      expect(out).toContain(`to do: application ${name}: comes disabled: `);
    expect(out).toContain('left out: roles of application narrow: ');
  });

  it.each([
    ['okta', 'okta.csv', 'id,login,status\n1,ada@x.example,DEPROVISIONED\n'],
    [
      'firebase',
      'firebase.json',
      '{ "users": [{ "localId": "1", "email": "ada@x.example", "disabled": true }] }',
    ],
  ])('who may not sign in at %s is never active', async (product, name, content) => {
    const { run, users } = await world();
    await run('tenant create harbour --name Harbour');
    const { code, said } = await run(
      `import people ${file(content, name)} --from ${product} --tenant harbour`,
    );
    expect(code, said).toBe(0);
    expect(await users('harbour')).toMatchObject([{ username: 'ada@x.example', status: 'disabled' }]);
  });

  it('a service without an audience gets tokens at an issuer of its own, and elsewhere has a line', () => {
    const { application, leftOut } = movedClient({
      serviceAccountsEnabled: true,
      standardFlowEnabled: false,
      defaultClientScopes: ['web-origins', 'roles', 'profile', 'email'],
    });
    expect(application).toMatchObject({ grantTypes: ['client_credentials'] });
    expect(leftOut).toContainEqual(
      expect.stringMatching(
        /^application web: none of its scopes names an audience; it gets tokens by itself only/,
      ),
    );
  });

  it('a client without lists has the scopes that a new realm gives', () => {
    const { records } = moved({ clients: [app] });
    const scopes = ['openid', 'profile', 'email', 'phone', 'address', 'offline_access'];
    const [{ scopes: found } = {}] = records.applications;
    expect(found).toEqual(expect.arrayContaining(scopes));
    expect(found).toHaveLength(scopes.length);
  });

  it('one redirect URI that does not come takes nothing else away', () => {
    const { application, leftOut, disabledFor } = movedClient({
      serviceAccountsEnabled: true,
      redirectUris: ['', '/*'],
    });
    expect(application).toMatchObject({ grantTypes: ['client_credentials'] });
    expect([application?.['status'], disabledFor]).toEqual([undefined, []]);
    expect(leftOut).toContain('redirect URI /* of application web: wildcards are refused');
  });

  it('an attribute that is too long goes alone, and the identifier stays', () => {
    const attributes = { thumb: ['x'.repeat(20_000)], desk: ['7'] };
    const { records, leftOut } = moved({ users: [{ id: '9', username: 'big', attributes }] });
    expect(records.users[0]?.['attributes']).toEqual({ desk: '7', keycloakId: '9' });
    expect(leftOut).toContainEqual(expect.stringMatching(/^attributes thumb of user big: /));
  });
});
