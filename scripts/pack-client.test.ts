import { execFile, execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fakeAdministration } from '../libs/admin-client/src/testing/fake-administration.ts';
import { FakeServer, fakeToken } from '../libs/introspection-client/src/testing/fake-server.ts';
import { packClient } from './pack-client.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const clients = ['introspection-client', 'admin-client'] as const;
let folder: string;
const packed = (client: (typeof clients)[number], file = '') => join(folder, client, file);
const entry = (client: (typeof clients)[number]) => JSON.stringify(packed(client, 'index.js'));
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pack-'));
  for (const client of clients) packClient(client, packed(client));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  [
    'introspection-client',
    ['@bufbuild/protobuf', '@connectrpc/connect', '@grpc/grpc-js', 'jose', 'lru-cache'],
    'messages/token/v1/token_pb.js',
  ],
  [
    'admin-client',
    ['@bufbuild/protobuf', '@connectrpc/connect', '@connectrpc/connect-node'],
    'messages/admin/v1/users_pb.js',
  ],
] as const)(
  'the packed %s depends on public packages alone and holds no source, no test and nothing else of ours',
  (client, dependencies, message) => {
    const manifest = JSON.parse(readFileSync(packed(client, 'package.json'), 'utf8')) as {
      dependencies: object;
    };
    expect(Object.keys(manifest.dependencies).toSorted()).toEqual(dependencies);
    const files = globSync('**/*.*', { cwd: packed(client) });
    expect(files).toEqual(expect.arrayContaining(['index.js', 'index.d.ts', 'README.md', message]));
    for (const file of files.filter((name) => /\.[jt]s$/.test(name))) {
      expect(file).toMatch(/\.(?:js|d\.ts)$/);
      const text = readFileSync(packed(client, file), 'utf8');
      expect(text).not.toMatch(/from '@tessera|\.test\.|from '\.[^']*\.ts'/);
    }
  },
);

test.each(clients)('the packed %s carries the license of the project', (client) => {
  expect(readFileSync(packed(client, 'LICENSE'), 'utf8')).toBe(readFileSync(join(root, 'LICENSE'), 'utf8'));
  expect(readFileSync(packed(client, 'package.json'), 'utf8')).toContain('"license": "Apache-2.0"');
});

/** The Node that started npm is the machine's own: at least 20, which strips no types either. */
const nodes = { 'of the project': ['--no-strip-types'], 'that runs npm': [] };
const pathOf = (node: string) =>
  node === 'of the project' ? process.execPath : (process.env['npm_node_execpath'] ?? process.execPath);

test.each(Object.entries(nodes))(
  'the packed introspection client asks a server on the Node %s',
  async (node, options) => {
    const server = await new FakeServer((token) => token === 'of-this-service').start();
    server.tokens.set('good', fakeToken());
    const code = `
    import { createIntrospector } from ${entry('introspection-client')};
    const introspector = createIntrospector({
      target: '${server.target}',
      credentials: { accessToken: () => 'of-this-service' },
      timeoutMs: 30_000,
    });
    const signal = AbortSignal.timeout(60_000);
    const answers = await Promise.all(['good', 'bad', 'good'].map((token) => introspector.introspect(token, { signal })));
    while (!introspector.guarded) await new Promise((resolve) => setTimeout(resolve, 20));
    await introspector.close();
    console.log(JSON.stringify(answers.map(({ active, sub }) => [active, sub])));`;
    try {
      const { stdout } = await run(pathOf(node), [...options, '--input-type=module', '-e', code]);
      expect(JSON.parse(stdout)).toEqual([
        [true, 'ada'],
        [false, null],
        [true, 'ada'],
      ]);
      expect(server.watches).toHaveLength(1);
    } finally {
      await server.close();
    }
  },
  120_000,
);

test.each(Object.entries(nodes))(
  'the packed administration client, as its guide shows it, calls a server on the Node %s, and ends',
  async (node, options) => {
    const server = await fakeAdministration();
    const [, guide = ''] =
      /^```js\n([^]*?)^```$/m.exec(readFileSync(packed('admin-client', 'README.md'), 'utf8')) ?? [];
    const code = guide
      .replace(`'@tessera/admin-client'`, entry('admin-client'))
      .replace('/run/tessera/token', join(folder, 'token'))
      .replaceAll(/https:\/\/[^/']+/g, server.url);
    expect(code).toContain(folder);
    writeFileSync(join(folder, 'token'), 'e30.e30.AA');
    try {
      const program = `${code}\nconsole.log(JSON.stringify(eve));`;
      const { stdout } = await run(pathOf(node), [...options, '--input-type=module', '-e', program]);
      expect(JSON.parse(stdout)).toMatchObject({ username: 'eve', userId: 'usr_1' });
    } finally {
      server.close();
    }
  },
  120_000,
);

test.each([
  [
    'introspection-client',
    `
    import { createIntrospector, type ActiveToken, type Introspection } from './introspection-client/index.js';
    const introspector = createIntrospector({ target: 'a:1', credentials: { sharedToken: 'x' } });
    const answer: Introspection = await introspector.introspect('t');
    export const token: ActiveToken | undefined = answer.active ? answer : undefined;`,
  ],
  [
    'admin-client',
    `
    import { createAdminClient, fieldErrors, ConnectError, UserSchema, create, type User } from './admin-client/index.js';
    const admin = createAdminClient({ baseUrl: 'http://a:1', accessToken: () => 'x' });
    const user = create(UserSchema, { username: 'eve' });
    export const made: User = await admin.users.create({ tenantId: 'demo', user });
    export const fields: string[] = fieldErrors(ConnectError.from('no')).map(({ field }) => field);`,
  ],
] as const)('the packed types of %s serve a strict program', (client, program) => {
  const file = join(folder, `${client}.mts`);
  writeFileSync(file, program);
  const options = ['--strict', '--noEmit', '--target', 'es2023', '--module', 'nodenext', '--types', 'node'];
  execFileSync(
    'tsc',
    [...options, '--typeRoots', join(root, 'node_modules/@types'), file],
    // Away from the repository's own settings.
    { encoding: 'utf8', cwd: folder },
  );
});
