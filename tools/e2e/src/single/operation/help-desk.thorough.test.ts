import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bareEnvironment, copyEmbeddedDatabase, eventually, freePort } from '@tessera/test-kit/provision';
import { authorizationQuery, decideDevice, entryOf, HttpClient, Person } from '@tessera/test-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PatientProcess } from '../../harness/patient-process.ts';

const run = promisify(execFile);
const tenant = 'harbour';
const redirectUri = 'https://shop.harbour.example/callback';
const password = 'a passphrase of this test';
const state = `tenants:
  - id: ${tenant}
    name: Harbour
    users:
      - { username: helen, roles: [tessera.helpdesk], password: ${password} }
      - { username: ebaker, name: Eve Baker, email: eve.baker@harbour.example, password: ${password} }
    applications:
      - { clientId: harbour-shop, name: Shop, type: public, grantTypes: [authorization_code, refresh_token], redirectUris: [${redirectUri}], scopes: [openid, offline_access] }
`;

interface Shown {
  readonly user: { readonly lockExpireTime?: string };
  readonly sessions: readonly { readonly sessionId: string; readonly browser?: string }[];
  readonly grants: readonly object[];
}

/** Of one tenant at the shared issuer, with what `tessera` alone answers. */
describe('somebody at the help desk of a tenant', () => {
  const server = new PatientProcess('standalone', entryOf('standalone'));
  let directory: string;
  let baseUrl: string;
  let api: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tessera-help-desk-'));
    const [port, adminPort] = [await freePort(), await freePort()];
    baseUrl = `http://localhost:${port}`;
    api = `http://127.0.0.1:${adminPort}`;
    await copyEmbeddedDatabase(join(directory, 'data/database'));
    server.start({
      TESSERA_DATA_DIR: join(directory, 'data'),
      TESSERA_HTTP_PORT: String(port),
      TESSERA_ADMIN_PORT: String(adminPort),
    });
    await eventually('it is ready', () => server.output.includes('Tessera is ready'));
    const file = join(directory, 'state.yaml');
    await writeFile(file, state);
    await asOperator('apply', '-f', file, '--allow-administration');
  });
  afterAll(async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const environmentOfDesk = () => ({ ...bareEnvironment(), HOME: join(directory, 'home') });
  const program = 'apps/cli/src/main.ts';

  async function asOperator(...words: string[]): Promise<string> {
    const env = { ...bareEnvironment(), TESSERA_DATA_DIR: join(directory, 'data') };
    return (await run(process.execPath, [program, ...words], { env })).stdout;
  }

  /** What the desk's command prints; its exit code must be 0. */
  async function desk(...words: string[]): Promise<string> {
    return (await run(process.execPath, [program, ...words], { env: environmentOfDesk() })).stdout;
  }
  const json = async <T>(...words: string[]): Promise<T> =>
    JSON.parse(await desk(...words, '-o', 'json')) as T;
  const showEve = async () => json<Shown>('user', 'show', 'ebaker', '--tenant', tenant);

  function person(username: string): Person {
    return new Person(new HttpClient(() => baseUrl), { tenant, username, password });
  }

  /** Signs in at the shop. Resolves with where that leads. */
  async function signIn(who: Person, secret: string): Promise<string> {
    const query = { client_id: 'harbour-shop', redirect_uri: redirectUri, scope: 'openid offline_access' };
    const answer = await who.authorize(authorizationQuery(query), {
      username: who.login.username,
      password: secret,
    });
    return answer.header('location') ?? '';
  }

  it('logs in by a code at the shared issuer, for the own tenant', async () => {
    const words = ['login', '--no-qr', '--context', 'desk', '--api', api, '--issuer', baseUrl];
    const command = spawn(process.execPath, [program, ...words, '--tenant', tenant], {
      env: environmentOfDesk(),
    });
    let said = '';
    command.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => command.once('close', resolve));
    await eventually('it shows a code', () => /Enter {2}\S+/.test(said));
    await decideDevice(person('helen'), /Enter {2}(\S+)/.exec(said)?.[1] ?? '', 'approve');
    expect([await ended, said]).toEqual([0, expect.stringContaining('Commands use the context desk')]);
  });

  it('finds who is locked out by a part of the name, sees until when, and lets them in', async () => {
    const eve = person('ebaker');
    for (let attempt = 0; attempt < 11; attempt += 1)
      expect(await signIn(person('ebaker'), 'wrong')).toBe('');
    expect(await signIn(eve, password)).toBe('');
    const found = await json<{ username: string }[]>('user', 'list', '--tenant', tenant, '--search', 'bak');
    expect(found.map(({ username }) => username)).toEqual(['ebaker']);
    const { lockExpireTime = '' } = (await showEve()).user;
    expect(Date.parse(lockExpireTime)).toBeGreaterThan(Date.now());
    await desk('user', 'unlock', 'ebaker', '--tenant', tenant);
    expect((await showEve()).user).not.toHaveProperty('lockExpireTime');
    expect(await signIn(eve, password)).toMatch(/^https:\/\/shop\.harbour\.example\/callback\?code=/);
  });

  it('ends the session of a lost laptop, and it alone', async () => {
    const before = (await showEve()).sessions;
    expect(await signIn(person('ebaker'), password)).toContain('?code=');
    const lost = (await showEve()).sessions.filter(
      ({ sessionId }) => !before.some((each) => each.sessionId === sessionId),
    );
    expect(lost).toHaveLength(1);
    const { sessionId = '' } = lost[0] ?? {};
    await desk('session', 'revoke', '--tenant', tenant, `--session-id=${sessionId}`);
    expect((await showEve()).sessions).toEqual(before);
  });

  it('explains a refusal by the reference of its page', async () => {
    const query = { client_id: 'harbour-shop', redirect_uri: 'https://elsewhere.example/', scope: 'openid' };
    const page = await person('ebaker').get(`/authorize?${authorizationQuery(query)}`);
    expect(page.status).toBe(400);
    const reference = page.header('x-request-id') ?? '';
    expect(page.text).toContain(reference);
    // Audit rows that nobody waits for are written within a second.
    await eventually('it is known', async () =>
      desk('why', reference).then(
        () => true,
        () => false,
      ),
    );
    expect(await desk('why', reference)).toContain('application: harbour-shop');
  });

  it('gives no right, and sees no other tenant', async () => {
    const refused = async (...words: string[]) =>
      run(process.execPath, [program, ...words], { env: environmentOfDesk() }).then(
        () => 'done',
        (error: unknown) => (error as { stderr: string }).stderr,
      );
    const roles = ['--roles', 'tessera.administrator'];
    expect(await refused('user', 'update', 'helen', '--tenant', tenant, ...roles)).toContain(
      'admin.users.write',
    );
    expect(await refused('user', 'list', '--tenant', 'demo')).toMatch(/tenant/);
  });
});
