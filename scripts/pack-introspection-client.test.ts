import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packIntrospectionClient } from './pack-introspection-client.ts';

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
  expect(files).toEqual(expect.arrayContaining(['index.js', 'index.d.ts', 'messages/token_pb.js']));
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

test('the packed client runs on a plain Node, which strips no types from what is installed', () => {
  const code = `
    import { createIntrospector, IntrospectionError } from ${JSON.stringify(join(packed, 'index.js'))};
    const introspector = createIntrospector({ target: '127.0.0.1:1', credentials: {}, watch: false, timeoutMs: 200 });
    const error = await introspector.introspect('a token').catch((thrown) => thrown);
    await introspector.close();
    console.log(error instanceof IntrospectionError, error.code);`;
  const out = execFileSync(process.execPath, ['--no-strip-types', '--input-type=module', '-e', code], {
    encoding: 'utf8',
  });
  expect(out).toMatch(/^true (?:unavailable|deadline_exceeded)/);
});

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
