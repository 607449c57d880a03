import { execFile, execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FakeServer, fakeToken } from '../libs/introspection-client/src/testing/fake-server.ts';
import { packIntrospectionClient } from './pack-introspection-client.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
let folder: string;
let packed: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pack-'));
  packed = join(folder, 'introspection-client');
  packIntrospectionClient(packed);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

test('the packed client depends on public packages alone and holds no source, no test and nothing else of ours', () => {
  const manifest = JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8')) as { dependencies: object };
  expect(Object.keys(manifest.dependencies).toSorted()).toEqual([
    '@bufbuild/protobuf',
    '@connectrpc/connect',
    '@grpc/grpc-js',
    'jose',
    'lru-cache',
  ]);
  const files = globSync('**/*.*', { cwd: packed });
  expect(files).toEqual(expect.arrayContaining(['index.js', 'index.d.ts', 'messages/token/v1/token_pb.js']));
  for (const file of files.filter((name) => /\.[jt]s$/.test(name))) {
    expect(file).toMatch(/\.(?:js|d\.ts)$/);
    const text = readFileSync(join(packed, file), 'utf8');
    expect(text).not.toMatch(/from '@tessera|\.test\.|from '\.[^']*\.ts'/);
  }
});

test('the packed client carries the license of the project', () => {
  expect(readFileSync(join(packed, 'LICENSE'), 'utf8')).toBe(readFileSync(join(root, 'LICENSE'), 'utf8'));
  expect(readFileSync(join(packed, 'package.json'), 'utf8')).toContain('"license": "Apache-2.0"');
});

/** The Node that started npm is the machine's own: at least 20, which strips no types either. */
const nodes = { 'of the project': ['--no-strip-types'], 'that runs npm': [] };
const pathOf = (node: string) =>
  node === 'of the project' ? process.execPath : (process.env['npm_node_execpath'] ?? process.execPath);

test.each(Object.entries(nodes))(
  'the packed client asks a server on the Node %s',
  async (node, options) => {
    const server = await new FakeServer((token) => token === 'of-this-service').start();
    server.tokens.set('good', fakeToken());
    const code = `
    import { createIntrospector } from ${JSON.stringify(join(packed, 'index.js'))};
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

test('the packed types serve a strict program', () => {
  const program = `
    import { createIntrospector, type ActiveToken, type Introspection } from ${JSON.stringify(join(packed, 'index.js'))};
    const introspector = createIntrospector({ target: 'a:1', credentials: { sharedToken: 'x' } });
    const answer: Introspection = await introspector.introspect('t');
    export const token: ActiveToken | undefined = answer.active ? answer : undefined;`;
  writeFileSync(join(folder, 'program.mts'), program);
  const options = ['--strict', '--noEmit', '--target', 'es2023', '--module', 'nodenext', '--types', 'node'];
  execFileSync(
    'tsc',
    [...options, '--typeRoots', join(root, 'node_modules/@types'), join(folder, 'program.mts')],
    // Away from the repository's own settings.
    { encoding: 'utf8', cwd: folder },
  );
});
