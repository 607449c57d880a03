import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchChromium } from '@tessera/test-kit';
import { bareEnvironment, copyEmbeddedDatabase, eventually, freePort } from '@tessera/test-kit/provision';
import { PatientProcess } from '../../harness/patient-process.ts';

const run = promisify(execFile);
const cli = fileURLToPath(new URL('../../../../../apps/cli/src/main.ts', import.meta.url));
const password = 'a passphrase of the administrator';

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly said: string;
}

/** Beside `npm start`, with the link that it prints. */
describe('the first administrator', () => {
  const server = new PatientProcess('standalone', 'apps/standalone/src/main.ts');
  let directory: string;
  let baseUrl: string;
  let browser: Browser;
  let environment: Record<string, string>;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tessera-administrator-'));
    const port = await freePort();
    baseUrl = `http://localhost:${port}`;
    const data = join(directory, 'data');
    await copyEmbeddedDatabase(join(data, 'database'));
    server.start({ TESSERA_DATA_DIR: data, TESSERA_HTTP_PORT: String(port) });
    environment = {
      ...bareEnvironment(),
      HOME: join(directory, 'home'),
      TESSERA_DATA_DIR: data,
      TESSERA_ISSUER: baseUrl,
    };
    await eventually('it has started', () => server.output.includes('"server.started"'));
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  async function tessera(...words: string[]): Promise<Outcome> {
    const done = await run(process.execPath, [cli, ...words], { env: environment }).catch(
      (error: unknown) => error as { stdout: string; stderr: string; code: number },
    );
    return { code: 'code' in done ? done.code : 0, out: done.stdout, said: done.stderr };
  }

  /** Logs in with a browser, as the command says. Resolves with its exit code. */
  async function login(page: Page): Promise<Outcome> {
    const command = spawn(process.execPath, [cli, 'login', '--no-qr', '--context', 'here'], {
      env: environment,
    });
    let said = '';
    command.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const code = new Promise<number>((resolve) => command.once('exit', (status) => resolve(status ?? 1)));
    await eventually('it shows a code', () => /Enter {2}\S+/.test(said));
    await page.goto(/Open {3}(\S+)/.exec(said)?.[1] ?? '');
    await page
      .getByRole('textbox')
      .first()
      .fill(/Enter {2}(\S+)/.exec(said)?.[1] ?? '');
    await page.getByRole('button', { name: /continue/i }).click();
    await page.getByLabel(/user name/i).fill('admin');
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: /allow|approve/i }).click();
    return { code: await code, out: '', said };
  }

  it('opens the printed link once, logs in and administers', async () => {
    const link = /Administer\s+(\S+)/.exec(server.output)?.[1] ?? '';
    const page = await (await browser.newContext()).newPage();
    await page.goto(link);
    await page.getByLabel('New password', { exact: true }).fill(password);
    await page.getByLabel('New password again').fill(password);
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByRole('heading', { level: 1, name: 'Your password is set' }).waitFor();

    const { code, said } = await login(page);
    expect([code, said]).toEqual([0, expect.stringContaining('Commands use the context here')]);
    // Nothing is left but the login.
    environment = { ...environment, TESSERA_DATA_DIR: join(directory, 'elsewhere') };
    const words = ['user', 'create', '--tenant', 'demo', '--username', 'eve', '-o', 'json'];
    const made = await tessera(...words);
    expect([made.code, made.said]).toEqual([
      0,
      expect.stringMatching(/^On http:\/\/\S+ \(context here\)\.\n$/),
    ]);
    expect(JSON.parse(made.out)).toMatchObject({ username: 'eve', owner: 'api' });
    const state = join(directory, 'state.yaml');
    await writeFile(state, 'owner: here\ntenants: [{ id: demo, roles: [tester] }]\n');
    expect((await tessera('apply', '-f', state)).code).toBe(0);
    expect(await tessera('logout')).toMatchObject({ code: 0, said: 'Logged out of here.\n' });
  });
});
