import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { bareEnvironment, copyEmbeddedDatabase, eventually, freePort } from '@tessera/test-kit/provision';
import { authorizationQuery, entryOf, HttpClient, Person, type Environment } from '@tessera/test-client';
import { PatientProcess } from '../../harness/patient-process.ts';

const run = promisify(execFile);
const declaredState = 'tessera.admin.v1.DeclaredStateService';
const token = `a-shared-token-${randomBytes(12).toString('hex')}`;
const state = (status: string) =>
  `tenants: [{ id: acme, name: Acme, status: ${status}, users: [{ username: ada }] }]\n`;

/** With the tools of the repository, which `npx` finds for its users. */
const searchPath = `${join(import.meta.dirname, '../../../../../node_modules/.bin')}:${process.env['PATH'] ?? ''}`;

/**
 * By tool the script of docs/operations.md that creates a person: what is common, and its own line. Of grpcurl, where
 * it is installed.
 */
async function documentedCreates(): Promise<[tool: string, script: string][]> {
  const guide = await readFile('docs/operations.md', 'utf8');
  const [, block = ''] = /^```sh\n(token=[^]*?)^```$/m.exec(guide) ?? [];
  const lines = block.trim().split('\n');
  const common = lines.filter((line) => /^\w+=/.test(line));
  const creates = lines.filter((line) => !common.includes(line)).map((line) => line.replace(/^npx /, ''));
  const tools = creates.map((line): [string, string] => [
    line.split(' ')[0] ?? '',
    [...common, line].join('\n'),
  ]);
  expect(tools.map(([tool]) => tool)).toEqual(['curl', 'buf', 'grpcurl']);
  const hasGrpcurl = await run('sh', ['-c', 'command -v grpcurl']).then(
    () => true,
    () => false,
  );
  return tools.filter(([tool]) => tool !== 'grpcurl' || hasGrpcurl);
}

async function start() {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-e2e-'));
  const file = join(directory, 'state.yaml');
  await writeFile(file, state('active'));
  await copyEmbeddedDatabase(join(directory, 'data/database'));
  const port = await freePort();
  const publicPort = await freePort();
  const server = new PatientProcess('standalone', entryOf('standalone'));
  onTestFinished(async () => {
    await server.kill();
    await rm(directory, { recursive: true, force: true });
  });
  server.start({
    TESSERA_DATA_DIR: join(directory, 'data'),
    TESSERA_HTTP_PORT: String(publicPort),
    TESSERA_OPERATOR_TENANT: 'operators',
    TESSERA_APPLY_FILE: file,
    TESSERA_LOG_LEVEL: 'debug',
    TESSERA_RPC_TOKEN: token,
    TESSERA_ADMIN_PORT: String(port),
  });
  await eventually('it serves administration', async () =>
    server.output.includes('"serving administration"'),
  );
  const headers = (caller: string) => [
    '-H',
    `authorization: Bearer ${token}`,
    '-H',
    `x-tessera-caller: ${caller}`,
  ];
  const url = (method: string) => `http://127.0.0.1:${port}/${method}`;
  return {
    server,
    publicPort,
    /** curl's answer and its status. */
    async curl(method: string, request: object, caller = 'operator'): Promise<[unknown, number]> {
      const json = ['-H', 'content-type: application/json', '--data-binary', JSON.stringify(request)];
      const options = ['-sS', '-w', '\n%{http_code}', ...headers(caller), ...json];
      const { stdout } = await run('curl', [...options, url(method)]);
      const [answer = '', status] = stdout.split('\n');
      return [JSON.parse(answer), Number(status)];
    },
    async bufCurl(method: string, request: object): Promise<string> {
      const options = ['--schema', 'proto', ...headers('operator'), '-d', JSON.stringify(request)];
      const { stdout } = await run('node_modules/.bin/buf', ['curl', ...options, url(method)]);
      return stdout;
    },
  };
}

it('compact with embedded stores makes links to the port that it listens on', async () => {
  const { publicPort, curl } = await start();
  const [made, status] = await curl('tessera.directory.v1.BootstrapService/CreateFirstAdministrator', {});
  expect([made, status]).toEqual([
    {
      tenantId: 'operators',
      username: 'admin',
      uri: expect.stringMatching(`^http://localhost:${publicPort}/password/link[?]link=tl_`) as string,
      expireTime: expect.any(String) as string,
    },
    200,
  ]);
});

it('compact is administered with curl and buf curl, by the operator', async () => {
  const { server, curl, bufCurl } = await start();
  const ask = (method: string, request: object, caller?: string) =>
    curl(`${declaredState}/${method}`, { tenantId: 'acme', ...request }, caller);
  const disabled = { document: state('disabled'), fileName: 'state.yaml' };
  expect(await ask('Diff', disabled)).toEqual([
    {
      differences: [{ kind: 'tenant', name: 'acme', change: 'updated', keys: ['status'] }],
      etag: expect.any(String) as string,
    },
    200,
  ]);
  expect(await ask('Apply', disabled)).toEqual([{ updated: 1 }, 200]);
  expect(JSON.parse(await bufCurl(`${declaredState}/Get`, { tenantId: 'acme' }))).toMatchObject({
    document: expect.stringMatching(/id: acme[^]*status: disabled/) as string,
  });
  expect(
    await ask('Apply', { document: 'tenants: [{ id: acme, naam: Acme }]', fileName: 'state.yaml' }),
  ).toMatchObject([
    { code: 'invalid_argument', message: expect.stringContaining('state.yaml:1') as string },
    400,
  ]);
  expect(await ask('Get', { tenantId: 'nobody' })).toMatchObject([{ code: 'not_found' }, 404]);
  expect(await ask('Apply', disabled, 'gateway')).toMatchObject([{ code: 'permission_denied' }, 403]);
  expect(await ask('Nothing', {})).toMatchObject([{ code: 'unimplemented' }, 404]);
  expect(server.output).not.toContain(token);
  expect(await server.stop()).toBe(0);
});

it('the admin process says what it lacks', async () => {
  const started = async (settings: Environment) => {
    const server = new PatientProcess('admin', entryOf('admin'));
    server.start(settings);
    expect(await server.ended()).not.toBe(0);
    return server.output;
  };
  const names = ['keys', 'directory', 'authorize', 'device', 'token'];
  const peers = { TESSERA_PEERS: names.map((name) => `${name}=127.0.0.1:1`).join(' ') };
  expect(await started({})).toContain('TESSERA_RPC_TOKEN is required');
  expect(await started({ TESSERA_RPC_TOKEN: token })).toContain('TESSERA_PEERS does not say where token is');
  expect(await started({ TESSERA_RPC_TOKEN: token, ...peers })).toContain('TESSERA_ADMIN_PORT is required');
});

it('beside embedded stores the command line works at once, and so does a person whom it adds', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-e2e-'));
  // Where the guide has it.
  const TESSERA_DATA_DIR = join(directory, '.tessera');
  const port = await freePort();
  const server = new PatientProcess('standalone', entryOf('standalone'));
  onTestFinished(async () => {
    await server.kill();
    await rm(directory, { recursive: true, force: true });
  });
  await copyEmbeddedDatabase(join(TESSERA_DATA_DIR, 'database'));
  server.start({ TESSERA_DATA_DIR, TESSERA_HTTP_PORT: String(port) });
  await eventually('it is ready', async () => server.output.includes('Tessera is ready'));
  const announced = join(TESSERA_DATA_DIR, 'administration.json');
  expect((await stat(announced)).mode & 0o777).toBe(0o600);
  const tessera = async (...words: string[]) => {
    const program = ['apps/cli/src/main.ts', ...words];
    const environment = { ...bareEnvironment(), TESSERA_DATA_DIR };
    return (await run(process.execPath, program, { env: environment })).stdout;
  };
  const password = join(directory, 'password');
  await writeFile(password, 'a passphrase for this test\n');
  const eve = ['--tenant', 'demo', '--username', 'eve'];
  const made = await tessera('user', 'create', ...eve, '--password-file', password, '-o', 'json');
  expect(JSON.parse(made)).toMatchObject({ username: 'eve', owner: 'api', status: 'active' });
  expect(await tessera('get', '--tenant', 'demo')).toMatch(/username: eve/);
  const { userId } = JSON.parse(made) as { userId: string };
  const audited = await tessera('audit', 'search', '--event', 'user.', '--about', userId, '-o', 'json');
  expect(JSON.parse(audited)).toMatchObject([{ event: 'user.created', actor: { id: 'operator' } }]);
  expect(await tessera('keys', 'list')).toMatch(/active {2,}RS256/);
  const { token: credential, target } = JSON.parse(await readFile(announced, 'utf8')) as {
    token: string;
    target: string;
  };
  // The token belongs to the operator, whatever name the caller claims; methods for other callers are not served.
  const url = (name: string) => `http://${target}/${name}`;
  const post = (name: string, authorization: string) =>
    fetch(url(name), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-tessera-caller': 'gateway', authorization },
      body: JSON.stringify({ tenantId: 'demo' }),
    });
  expect((await post('tessera.admin.v1.TenantsService/Get', `Bearer ${credential}`)).status).toBe(200);
  expect((await post('tessera.admin.v1.TenantsService/Get', 'Bearer wrong')).status).toBe(401);
  expect(
    (await post('tessera.directory.v1.DirectoryService/VerifyPassword', `Bearer ${credential}`)).status,
  ).toBe(404);
  const signIn = async (username: string, password: string) => {
    const login = { tenant: 'demo', username, password };
    const person = new Person(new HttpClient(() => `http://127.0.0.1:${port}`), login);
    const callback = `http://localhost:${port}/demo/callback`;
    const query = { client_id: 'demo-web', redirect_uri: callback, scope: 'openid' };
    const answer = await person.authorize(authorizationQuery(query), login);
    expect(answer.header('location')?.split('?code=')[0]).toBe(callback);
  };
  await signIn('eve', 'a passphrase for this test');
  for (const [tool, script] of await documentedCreates()) {
    const ported = script.replaceAll('127.0.0.1:9002', target).replace('"eve"', `"eve-by-${tool}"`);
    const { stdout } = await run('sh', ['-euc', ported], { cwd: directory, env: { PATH: searchPath } });
    expect(JSON.parse(stdout), tool).toMatchObject({ username: `eve-by-${tool}`, owner: 'api' });
    await signIn(`eve-by-${tool}`, 'a passphrase for eve');
  }
  expect(server.output).not.toContain(credential);
  expect(await server.stop()).toBe(0);
  await expect(stat(announced)).rejects.toThrow('ENOENT');
});

it('a process that was killed leaves no credential that the next one takes', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-e2e-'));
  const server = new PatientProcess('standalone', entryOf('standalone'));
  onTestFinished(async () => {
    await server.kill();
    await rm(directory, { recursive: true, force: true });
  });
  await copyEmbeddedDatabase(join(directory, 'database'));
  const settings = { TESSERA_DATA_DIR: directory, TESSERA_HTTP_PORT: String(await freePort()) };
  const announced = async () =>
    JSON.parse(await readFile(join(directory, 'administration.json'), 'utf8')) as {
      target: string;
      token: string;
    };
  const started = async (former = '') => {
    server.start(settings);
    await eventually('its credential is new', async () => (await announced()).token !== former);
    return announced();
  };
  const status = async ({ target }: { target: string }, { token }: { token: string }) =>
    (
      await fetch(`http://${target}/tessera.admin.v1.TenantsService/List`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{}',
      })
    ).status;
  const before = await started();
  expect(await status(before, before)).toBe(200);
  await server.kill();
  expect(await announced()).toEqual(before);
  const after = await started(before.token);
  expect(await status(after, after)).toBe(200);
  expect(await status(after, before)).toBe(401);
});
