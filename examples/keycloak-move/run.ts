/**
 * Has a Keycloak serve a realm to four applications, exports it, puts a Tessera in its place at the same address, and
 * then the Keycloak again. The applications run all the time. Nothing of theirs changes.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { expect } from '../harness/expect.ts';
import { startTessera } from '../harness/tessera.ts';
import { exportRealm, startKeycloak } from '../keycloak/keycloak.ts';
import { installApplications, startApplications } from './applications.ts';
import { makeRealm, realm } from './realm.ts';
import { walkApplications } from './walk.ts';

const root = join(import.meta.dirname, '../..');
const address = 'http://localhost:19496';
const issuer = `${address}/realms/${realm}`;

/** Throws unless all four go on. Resolves with what happened. */
export async function moveApplications(browser: Browser): Promise<string> {
  installApplications();
  const keycloak = await startKeycloak({ address });
  let server: { stop(): Promise<void> } | undefined = keycloak;
  const replace = async (start: () => Promise<{ stop(): Promise<void> }>) => {
    const before = server;
    server = undefined;
    await before?.stop();
    server = await start();
  };
  try {
    await makeRealm(keycloak);
    const applications = await startApplications();
    try {
      const before = await walkApplications(browser);
      await replace(startMoved);
      const moved = await walkApplications(browser);
      await replace(async () => startKeycloak({ address, keepsData: true }));
      const after = await walkApplications(browser);
      expect(moved === before && after === before, `the sub stays: ${before}, ${moved}, ${after}`);
    } catch (error) {
      throw new Error(`${String(error)}\n${applications.output()}`, { cause: error });
    } finally {
      await applications.stop();
    }
  } finally {
    await server?.stop();
  }
  return 'four applications went on at Tessera, and at Keycloak again';
}

/** Exports the realm of the Keycloak that was stopped, and serves it at its address. */
async function startMoved(): Promise<{ stop(): Promise<void> }> {
  const file = join(root, 'test-output/examples/keycloak-move/realm.json');
  writeFileSync(file, JSON.stringify(exportRealm(realm)));
  const tessera = await startTessera(address, process.env['TESSERA_PROFILE'] ?? 'contract');
  const cli = (...words: string[]) =>
    execFileSync(process.execPath, ['apps/cli/src/main.ts', ...words], {
      cwd: root,
      env: { PATH: process.env['PATH'], TESSERA_DATA_DIR: tessera.directory },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  try {
    cli('import', 'keycloak', file, '--keep-wildcards');
    const own = ['--issuer', issuer, '--endpoints', 'keycloak', '--take-over'];
    cli('tenant', 'update', realm, ...own);
  } catch (error) {
    await tessera.stop();
    throw error;
  }
  return tessera;
}
