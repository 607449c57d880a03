/**
 * `npm run test:deploy`: the image's tree is assembled and run, and the compose files and the chart are held against
 * what they configure. Arguments go to vitest. Helm, oras, kubeconform and promtool are taken from the PATH or built
 * with Go, buildah and a registry from the PATH or by apt; where they are not to be had, the tests that need them are
 * left out with a word, and in CI that is a failure.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { provideTools } from '../deploy/helm/tools.ts';
import { provideStores } from '../libs/test-kit/src/provide-stores.ts';

const root = dirname(import.meta.dirname);
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

const tools = provideTools(process.env);
for (const line of tools.notes) process.stdout.write(`${line}\n`);

const stores = await provideStores(process.env);
const child = spawn(
  process.execPath,
  [vitest, 'run', '--config', 'deploy/vitest.config.ts', ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...tools.environment,
      TESSERA_TEST_DATABASE_URL: stores.postgres.url,
      TESSERA_TEST_REDIS_URL: stores.redis.url,
      TESSERA_TEST_RUN: randomBytes(4).toString('hex'),
    },
  },
);
const code = await new Promise<number>((resolve) => {
  child.once('error', () => resolve(1));
  child.once('exit', (status) => resolve(status ?? 1));
});
await stores.stop();
const lacks = tools.missing.length > 0;
if (lacks) process.stdout.write(`Not tested, for want of ${tools.missing.join(' and ')}: see above.\n`);
process.exitCode = lacks && process.env['CI'] ? 1 : code;
