import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { Environment } from '@tessera/test-client';
import { eventually } from '@tessera/test-kit/provision';
import { PatientProcess } from '../patient-process.ts';

/** Of the help desk and the operator of a demo. */
export const passwordOfAdministrators = 'a passphrase of the help desk';

/** A demo with its console. */
export interface ConsoleDemo {
  readonly server: PatientProcess;
  readonly directory: string;
  readonly issuer: string;
  readonly console: string;
}

/**
 * The demo with the help desk `helper`, the operator `boss`, `dora`, who administers the demo tenant, and `lise` there,
 * who leaves.
 */
export async function startConsoleDemo(port: number, environment: Environment = {}): Promise<ConsoleDemo> {
  const server = new PatientProcess('standalone', 'apps/standalone/src/main.ts');
  const directory = await mkdtemp(join(tmpdir(), 'tessera-console-'));
  const issuer = `http://localhost:${port}`;
  server.start({ TESSERA_DATA_DIR: directory, TESSERA_HTTP_PORT: String(port), ...environment });
  await eventually('the demo serves', async () => (await fetch(`${issuer}/readyz`)).ok);
  const announced = () => readFile(join(directory, 'administration.json'), 'utf8').catch(() => '');
  await eventually('administration is served', async () => (await announced()) !== '');
  const { target, token } = JSON.parse(await announced()) as { target: string; token: string };
  const create = async (method: string, request: object) => {
    const { ok } = await fetch(`http://${target}/tessera.admin.v1.${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    return ok;
  };
  const password = passwordOfAdministrators;
  const helper = { username: 'helper', name: 'Hedy Lamarr', password, roles: ['tessera.helpdesk'] };
  const boss = { username: 'boss', name: 'Radia Perlman', password, roles: ['tessera.administrator'] };
  const dora = { username: 'dora', name: 'Dorothy Vaughan', password, roles: ['tessera.administrator'] };
  const lise = { username: 'lise', name: 'Lise Meitner', password, roles: ['clerk', 'tessera.auditor'] };
  // The first administrator and its tenant are made when the banner is printed.
  await eventually('there is a help desk', () =>
    create('UsersService/Create', { tenantId: 'operators', user: helper }),
  );
  for (const [tenantId, user] of [
    ['operators', boss],
    ['demo', dora],
    ['demo', lise],
  ] as const)
    if (!(await create('UsersService/Create', { tenantId, user })))
      throw new Error(`${user.username} could not be added`);
  return { server, directory, issuer, console: `http://${target}/console` };
}

export async function endConsoleDemo({ server, directory }: ConsoleDemo): Promise<void> {
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}

export async function signInAsAdministrator(
  page: Page,
  username: string,
  secret = passwordOfAdministrators,
): Promise<void> {
  await page.getByLabel(/user name/i).fill(username);
  await page.getByLabel('Password').fill(secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
}
