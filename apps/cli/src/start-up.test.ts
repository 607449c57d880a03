import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const main = fileURLToPath(new URL('main.ts', import.meta.url));

/** Writes the URL of each module that is loaded into the file that LOADED names. */
const recorder = `data:text/javascript,${encodeURIComponent(`
  import { appendFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, next) {
      appendFileSync(process.env.LOADED, url + '\\n');
      return next(url, context);
    },
  });`)}`;

/** Runs a command in a process of its own. Resolves with what it said, and with the packages that it loaded. */
async function loadedBy(words: string, environment: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-start-up-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'loaded');
  const env = { ...environment, XDG_CONFIG_HOME: folder, LOADED: file };
  const said = await new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      ['--import', recorder, main, ...words.split(' ')],
      { cwd: folder, env },
      (_error, out, messages) => resolve(out + messages),
    );
  });
  const urls = (await readFile(file, 'utf8')).split('\n').filter((url) => url.startsWith('file:'));
  return { said, packages: [...new Set(urls.map(packageOf))].toSorted() };
}

/** `libs/rpc`, `apps/cli`, or the name of a package of others. */
function packageOf(url: string): string {
  const [, others] = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  const [, ours] = /\/((?:libs|apps)\/[^/]+)\/src\//.exec(url) ?? [];
  return others ?? ours ?? url;
}

const nobody = 'http://127.0.0.1:1';
const pipeline = { TESSERA_API: nobody, TESSERA_ISSUER: nobody, TESSERA_ACCESS_TOKEN: 'an-access-token' };

/** What commands parse their options with: those for records come from the messages. */
const parsing = ['@bomb.sh/tab', '@bufbuild/protobuf', 'apps/cli', 'commander', 'libs/proto-gen'];
/** What calls the administration API. */
const calling = [
  '@connectrpc/connect',
  '@connectrpc/connect-node',
  'libs/kit',
  'libs/oauth',
  'libs/process',
  'libs/rpc',
  'libs/stores',
  'lru-cache',
  'zod',
];

describe('a command loads what it needs alone:', () => {
  it('help loads what parses the command line', async () => {
    const { said, packages } = await loadedBy('--help');
    expect(said).toContain('Usage: tessera');
    expect(packages).toEqual(parsing);
  });

  it.each(['user list --tenant demo', 'user show --tenant demo ada', 'keys list'])(
    '%s at an administration API loads no service, store, log or server',
    async (words) => {
      const { said, packages } = await loadedBy(words, pipeline);
      expect(said).toContain(`does not answer at ${nobody}`);
      expect(packages).toEqual(expect.arrayContaining([...parsing, '@connectrpc/connect-node']));
      expect(packages.filter((name) => ![...parsing, ...calling].includes(name))).toEqual([]);
    },
  );

  it('is seen if it loads the code of a service (canary)', async () => {
    const { packages } = await loadedBy('config check');
    expect(packages).toEqual(expect.arrayContaining(['apps/cli', 'libs/people', 'libs/token', 'pg']));
  });
});
