/** A Django OAuth Toolkit as the provider of a company, from PyPI, below `test-output`. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answers } from '../harness/tessera.ts';
import { group, passwordThere, people, type Registration, type Upstream } from './upstream.ts';

const address = 'http://127.0.0.1:19491';
const issuer = `${address}/o`;
const folder = join(import.meta.dirname, '../../test-output/examples/upstream-django-oauth-toolkit');
const python = join(folder, '.venv/bin/python');
const patience = 120_000;

/** Whether Python with virtual environments is on the PATH. */
export function hasPython(): boolean {
  return spawnSync('python3', ['-c', 'import venv']).status === 0;
}

/** Starts one with an empty database, where Tessera is a confidential application whose ID tokens RS256 signs. */
export async function toolkitUpstream(registration: Registration): Promise<Upstream> {
  install();
  const environment = {
    PATH: process.env['PATH'],
    ISSUER: issuer,
    AUTH_SECRET: 'key-of-the-examples-not-for-production',
    PASSWORD: passwordThere,
    PEOPLE: people
      .map(({ username, email, givenName, familyName }) =>
        [username, email, givenName, familyName, username === 'ada' ? group : ''].join('\t'),
      )
      .join('\n'),
    CLIENT_ID: registration.clientId,
    CLIENT_SECRET: registration.clientSecret,
    REDIRECT_URI: registration.redirectUri,
  };
  let running = await serve(environment);
  return {
    issuer,
    preset: 'none',
    stop: async () => running.stop(),

    async signIn(page, username) {
      await page.fill('#id_username', username);
      await page.fill('#id_password', passwordThere);
      await page.click('button[type=submit]');
      await page.click('input[name=allow]');
    },

    leaveGroup: async () =>
      void execFileSync(python, ['app.py', 'leave', 'ada', group], { cwd: folder, env: environment }),

    async rotateKeys() {
      await running.stop();
      running = await serve(environment);
    },
  };
}

function install(): void {
  mkdirSync(folder, { recursive: true });
  rmSync(join(folder, 'provider.sqlite3'), { force: true });
  cpSync(join(import.meta.dirname, 'django-oauth-toolkit'), folder, { recursive: true });
  const command = 'test -d .venv || python3 -m venv .venv; .venv/bin/pip install -q -r requirements.txt';
  execFileSync('/bin/sh', ['-c', command], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
}

/** Starts the process. Resolves when it answers. */
async function serve(environment: NodeJS.ProcessEnv): Promise<{ stop(): Promise<void> }> {
  const server = spawn(python, ['app.py', 'serve'], {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  server.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  const stop = async () => {
    server.kill();
    await ended;
  };
  const until = Date.now() + patience;
  while (!(await answers(`${address}/login/`))) {
    if (server.exitCode !== null || Date.now() > until) {
      await stop();
      throw new Error(`Django did not start.\n${output.slice(-4000)}`);
    }
    await sleep(200);
  }
  return { stop };
}
