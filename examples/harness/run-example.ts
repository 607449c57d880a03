import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { callApi } from './api.ts';
import { walk } from './browser.ts';
import type { Example } from './examples.ts';
import { expect } from './expect.ts';
import { answers } from './tessera.ts';

const application = 'http://localhost:19400';
const withinMs = 240_000;

interface Run {
  readonly example: Example;
  /** Where it is installed, with its configuration. */
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly browser: Browser;
  readonly issuer: string;
  readonly clientId: string;
  /** For APIs: one that they accept. */
  readonly accessToken: string;
}

/** Starts the example and walks through it. Throws with its output when it does not do what it must. */
export async function runExample(given: Run): Promise<string> {
  const { example, folder, environment, browser, issuer, clientId, accessToken } = given;
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
  const deadline = Date.now() + withinMs;
  const until = async <T>(probe: () => Promise<T | undefined>): Promise<T> => {
    for (;;) {
      const found = await probe();
      if (found !== undefined) return found;
      if (hasEnded) throw new Error('The program ended.');
      if (Date.now() > deadline) throw new Error('The program takes too long.');
      await sleep(200);
    }
  };
  const listens = (url: string) => until(async () => ((await answers(url)) ? true : undefined));
  const context = await browser.newContext();
  const page = await context.newPage();
  try {
    const { api, signIn, refreshing } = example;
    if (api !== undefined) {
      await listens(api);
      return await callApi(api, accessToken, clientId, example.identity);
    }
    if (signIn === undefined) {
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
      if (opened.length === 0) return 'accepts tokens';
      return `signed in${output.includes('refreshed') ? ', refreshed' : ''}`;
    }
    await listens(application);
    const open = (path: string) => walk(page, application + path, issuer);
    const openUntilRefreshed = async (path: string) => {
      const shown = await open(path);
      return refreshing?.test(output) === false ? undefined : shown;
    };
    return await walkThrough({ ...example, signIn }, (path) =>
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
  expect(wasAsked, `asks for the password: ${text.slice(0, 500)}`);
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
