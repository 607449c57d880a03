import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);

/** The CommonJS modules that loading all of compact loads. */
async function loaded(): Promise<readonly string[]> {
  const program = `
    import { createRequire } from 'node:module';
    await import('./compose.ts');
    await import('./config.ts');
    console.log(JSON.stringify(Object.keys(createRequire(import.meta.url).cache)));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: import.meta.dirname,
  });
  return JSON.parse(stdout) as string[];
}

describe('the compact topology', () => {
  it('loads no gRPC before it needs it', async () => {
    const packages = await loaded();
    expect(packages.some((path) => path.includes('/node_modules/fastify/'))).toBe(true);
    expect(packages.filter((path) => /node_modules\/(@grpc|protobufjs)\//.test(path))).toEqual([]);
  });
});
