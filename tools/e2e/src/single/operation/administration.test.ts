import { newDatabaseUrl } from '@tessera/test-kit';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { eventually, freePort } from '@tessera/test-kit/provision';
import { entryOf, ServerProcess, type Environment } from '@tessera/test-client';

const run = promisify(execFile);
const service = 'tessera.directory.v1.DirectoryAdminService';
const token = `a-shared-token-${randomBytes(12).toString('hex')}`;
const state = (status: string) =>
  `tenants: [{ id: acme, name: Acme, status: ${status}, users: [{ username: ada }] }]\n`;

/** A process that serves administration, with what it needs. */
const processes: readonly [name: string, (directory: string) => Promise<Environment>][] = [
  [
    'standalone',
    async (directory) => ({
      TESSERA_DATA_DIR: join(directory, 'data'),
      TESSERA_HTTP_PORT: String(await freePort()),
    }),
  ],
  [
    'directory',
    async () => ({
      DATABASE_URL: await newDatabaseUrl(),
      TESSERA_DIRECTORY_PEPPER: randomBytes(32).toString('base64'),
    }),
  ],
];

async function start(name: string, environmentIn: (directory: string) => Promise<Environment>) {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-e2e-'));
  const file = join(directory, 'state.yaml');
  await writeFile(file, state('active'));
  const port = await freePort();
  const server = new ServerProcess(name, entryOf(name));
  onTestFinished(async () => {
    await server.kill();
    await rm(directory, { recursive: true, force: true });
  });
  server.start({
    ...(await environmentIn(directory)),
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
  const url = (method: string) => `http://127.0.0.1:${port}/${service}/${method}`;
  return {
    server,
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

it.each(processes)(
  '%s is administered with curl and buf curl, by the operator alone',
  async (name, environmentIn) => {
    const { server, curl, bufCurl } = await start(name, environmentIn);
    const disabled = { document: state('disabled'), fileName: 'state.yaml' };
    expect(await curl('Diff', disabled)).toEqual([
      {
        tenants: [
          {
            tenantId: 'acme',
            differences: [{ kind: 'tenant', name: 'acme', change: 'updated', keys: ['status'] }],
          },
        ],
      },
      200,
    ]);
    expect(await curl('Apply', disabled)).toEqual([{ tenants: [{ tenantId: 'acme', updated: 1 }] }, 200]);
    expect(JSON.parse(await bufCurl('GetDeclaredState', { tenantId: 'acme' }))).toMatchObject({
      document: expect.stringMatching(/id: acme[^]*status: disabled/) as string,
    });
    expect(
      await curl('Apply', { document: 'tenants: [{ id: acme, naam: Acme }]', fileName: 'state.yaml' }),
    ).toMatchObject([
      { code: 'invalid_argument', message: expect.stringContaining('state.yaml:1') as string },
      400,
    ]);
    expect(await curl('ListApplicationSecrets', { clientId: 'nobody' })).toMatchObject([
      { code: 'not_found' },
      404,
    ]);
    expect(await curl('Apply', disabled, 'gateway')).toMatchObject([{ code: 'permission_denied' }, 403]);
    expect(await curl('Nothing', {})).toMatchObject([{ code: 'unimplemented' }, 404]);
    expect(server.output).not.toContain(token);
    expect(await server.stop()).toBe(0);
  },
);

it('without a token or certificates there is no administration over HTTP', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-e2e-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const started = async (environment: Environment) => {
    const server = new ServerProcess('standalone', 'apps/standalone/src/main.ts');
    server.start({
      TESSERA_DATA_DIR: join(directory, 'data'),
      TESSERA_HTTP_PORT: String(await freePort()),
      TESSERA_ADMIN_PORT: String(await freePort()),
      ...environment,
    });
    expect(await server.ended()).not.toBe(0);
    return server.output;
  };
  expect(await started({})).toContain('TESSERA_RPC_TOKEN is required');
  expect(await started({ TESSERA_RPC_AUTH: 'none' })).toContain(
    'TESSERA_ADMIN_PORT needs TESSERA_RPC_AUTH=token or mtls',
  );
});
