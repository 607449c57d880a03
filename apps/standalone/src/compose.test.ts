import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);

interface Loaded {
  readonly packages: readonly string[];
  readonly builtin: readonly string[];
}

/** What loading all of compact loads: CommonJS modules of packages, and modules of Node. */
async function loaded(): Promise<Loaded> {
  const program = `
    import { createRequire } from 'node:module';
    await import('./compose.ts');
    await import('./config.ts');
    const packages = Object.keys(createRequire(import.meta.url).cache);
    console.log(JSON.stringify({ packages, builtin: process.moduleLoadList }));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: import.meta.dirname,
  });
  return JSON.parse(stdout) as Loaded;
}

describe('the compact topology', () => {
  it('loads neither gRPC nor fetch before it needs them, for its memory at rest', async () => {
    const { packages, builtin } = await loaded();
    expect(packages.some((path) => path.includes('/node_modules/fastify/'))).toBe(true);
    expect(packages.filter((path) => /node_modules\/(@grpc|protobufjs)\//.test(path))).toEqual([]);
    expect(builtin).toContain('NativeModule http');
    expect(builtin).not.toContain('NativeModule internal/deps/undici/undici');
  });
});
