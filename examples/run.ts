/**
 * `npm run test:examples [-- <example> ...]`: runs the clients of this folder against a Tessera of their own, with the
 * configuration that `tessera client-config` prints, and signs a person in with a real browser. Downloads what they need.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { stacks } from '../apps/cli/src/client-config/stacks.ts';
import { launch, walk } from './harness/browser.ts';
import { examples, type Example } from './harness/examples.ts';
import { answers, startTessera } from './harness/tessera.ts';

const root = join(import.meta.dirname, '..');
const issuer = 'http://localhost:19480';
const application = 'http://localhost:19400';
const environment = {
  ...process.env,
  TESSERA_ISSUER: issuer,
  CLIENT_SECRET: 'secret-of-the-examples-not-for-production',
  AUTH_SECRET: 'cookie-secret-of-the-examples-not-for-production',
};

/** Copies the example, writes its configuration and installs what it needs, in a folder that is kept for the next run. */
function prepare(name: string, example: Example): string {
  const { install, stacks: used = [name], folder: source = name } = example;
  const folder = join(root, 'test-output/examples', name);
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, 'examples', source), folder, { recursive: true });
  for (const { id, file } of stacks.filter((stack) => used.includes(stack.id))) {
    const args = ['apps/cli/src/main.ts', 'client-config', name, id, '-f', 'examples/tessera.yaml'];
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(
      join(folder, file),
      execFileSync(process.execPath, args, { cwd: root, env: environment, stdio: 'pipe' }),
    );
  }
  if (install !== undefined)
    execFileSync('/bin/sh', ['-c', install], { cwd: folder, env: environment, stdio: 'inherit' });
  return folder;
}

/** Starts the example and walks through it. Throws with its output when it does not do what a client must. */
async function run(example: Example, folder: string, browser: Browser): Promise<string> {
  const client = spawn('/bin/sh', ['-c', example.start], { cwd: folder, env: environment, detached: true });
  let output = '';
  let hasEnded = false;
  for (const stream of [client.stdout, client.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => {
    client.once('exit', (code) => {
      hasEnded = true;
      resolve(code);
    });
  });
  const deadline = Date.now() + 120_000;
  const until = async <T>(probe: () => Promise<T | undefined>): Promise<T> => {
    for (;;) {
      const found = await probe();
      if (found !== undefined) return found;
      if (hasEnded) throw new Error('The program ended.');
      if (Date.now() > deadline) throw new Error('The program takes too long.');
      await sleep(200);
    }
  };
  const context = await browser.newContext();
  const page = await context.newPage();
  try {
    if (example.signIn === undefined) {
      const opened: string[] = [];
      const visitPrinted = async () => {
        const next = output.match(/https?:\/\/\S+/g)?.find((url) => isToOpen(url) && !opened.includes(url));
        if (next !== undefined) opened.push(next);
        if (next !== undefined) await walk(page, next, issuer);
        return hasEnded ? true : undefined;
      };
      await until(visitPrinted);
      expect((await ended) === 0, 'the program reports success');
      expectClaims(output, example);
      if (opened.length === 0) return 'verified';
      return `signed in${output.includes('refreshed') ? ', refreshed' : ''}`;
    }
    await until(async () => ((await answers(application)) ? true : undefined));
    const { refreshing } = example;
    const open = (path: string) => walk(page, application + path, issuer);
    const openUntilRefreshed = async (path: string) => {
      const shown = await open(path);
      return refreshing?.test(output) === false ? undefined : shown;
    };
    return await walkThrough({ ...example, signIn: example.signIn }, (path) =>
      path === example.refresh ? until(() => openUntilRefreshed(path)) : open(path),
    );
  } catch (error) {
    throw new Error(`${String(error)}\n${page.url()}\n${output.slice(-3000)}`, { cause: error });
  } finally {
    await context.close();
    // The whole group: a shell and what it started.
    if (!hasEnded && client.pid !== undefined) process.kill(-client.pid, 'SIGKILL');
    await ended;
  }
}

async function walkThrough(
  example: Example & { readonly signIn: string },
  open: (path: string) => ReturnType<typeof walk>,
): Promise<string> {
  const { signIn, refresh, refreshing, signOut, staysSignedIn = false } = example;
  const done = ['signed in'];
  const { text, wasAsked } = await open(signIn);
  expect(wasAsked, 'asks for the password');
  expectClaims(text, example);
  if (refresh !== undefined) {
    const refreshed = await open(refresh);
    const answered = refreshing !== undefined || /token/.test(refreshed.text);
    expect(answered && !/error/i.test(refreshed.text), `refreshes: ${refreshed.text}`);
    done.push('refreshed');
  }
  if (signOut !== undefined) {
    const end = await open(signOut);
    const again = await open(signIn);
    const isAskedAgain = end.wasAsked || again.wasAsked;
    expect(
      isAskedAgain !== staysSignedIn,
      `the session ${staysSignedIn ? 'stays' : 'ends'}: ${end.url} ${end.text.slice(0, 500)}`,
    );
    done.push(staysSignedIn ? 'signed out of the client' : 'signed out');
  }
  return done.join(', ');
}

const isToOpen = (url: string): boolean => /\/authorize\?|user_code=|^http:\/\/localhost:8000/.test(url);

function expectClaims(text: string, { shows = /Ada Lovelace|ada@acme\.example/ }: Example): void {
  expect(shows.test(text), `${String(shows)} in ${text.slice(-500)}`);
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`Expected: ${what}`);
}

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(examples);
const failures: string[] = [];
const missing: string[] = [];
const isInstalled = (program: string): boolean =>
  spawnSync('/bin/sh', ['-c', `command -v ${program}`]).status === 0;
const server = await startTessera(issuer, process.env['TESSERA_PROFILE'] ?? 'strict');
const browser = await launch();
try {
  for (const name of names) {
    const example = examples[name];
    if (example === undefined) throw new Error(`There is no example ${name}.`);
    if (example.needs !== undefined && !isInstalled(example.needs)) {
      missing.push(name);
      process.stdout.write(`${name}: not run; put ${example.needs} on the PATH\n`);
      continue;
    }
    try {
      process.stdout.write(`${name}: ${await run(example, prepare(name, example), browser)}\n`);
    } catch (error) {
      failures.push(name);
      process.stdout.write(`${name}: FAILED\n${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = failures.length === 0 ? 0 : 1;
const passed = names.length - failures.length - missing.length;
process.stdout.write(`${passed} passed, ${failures.length} failed, ${missing.length} skipped\n`);
