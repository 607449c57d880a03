/**
 * `npm test`: every test on real Postgres and real Redis. Arguments go to vitest, for example `npm test -- libs/oauth`.
 * A package's own `test` script, which `nx test <package>` runs, calls it with `.`: the tests below the working
 * directory.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { ProvisionError } from '../libs/test-kit/src/provision/executable.ts';
import { provideStores, type Stores } from '../libs/test-kit/src/provide-stores.ts';

const root = dirname(import.meta.dirname);
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

async function main(): Promise<number> {
  process.env['TESSERA_TEST_RUN'] = randomBytes(4).toString('hex');
  const stores = await provideStores(process.env);
  try {
    process.stdout.write(`Postgres: ${stores.postgres.origin}\nRedis: ${stores.redis.origin}\n`);
    return await runVitest(stores);
  } finally {
    await stores.stop();
  }
}

/** Vitest runs in the root and filters by paths from there. */
const fromRoot = (argument: string): string =>
  argument === '.' ? `${relative(root, process.cwd())}/` : argument;

function runVitest({ postgres, redis }: Stores): Promise<number> {
  // Processes under test inherit this environment: they get the stores that their test names, never these by accident.
  const { DATABASE_URL: _database, REDIS_URL: _redis, ...environment } = process.env;
  const child = spawn(process.execPath, [vitest, 'run', ...process.argv.slice(2).map(fromRoot)], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...environment,
      TESSERA_TEST_DATABASE_URL: postgres.url,
      TESSERA_TEST_REDIS_URL: redis.url,
      ...(postgres.statements !== undefined && { TESSERA_TEST_STATEMENTS: postgres.statements }),
      // Hundreds of processes start; compiling the same sources is half of what a start costs.
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node-compile'),
    },
  });
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  // A Ctrl-C reaches vitest by itself, and a second one would cut its cleaning up short.
  process.on('SIGINT', () => undefined);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof ProvisionError ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
