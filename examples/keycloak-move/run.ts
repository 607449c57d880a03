/**
 * Has a Keycloak serve a realm to four applications, exports it, puts a Tessera in its place at the same address, and
 * then the Keycloak again. The applications run all the time. Nothing of theirs changes.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { expect } from '../harness/expect.ts';
import { commandsOf, startTessera } from '../harness/tessera.ts';
import { exportRealm, startKeycloak } from '../keycloak/keycloak.ts';
import { installApplications, startApplications } from './applications.ts';
import { corpInKeycloak, startCorp } from './corp.ts';
import { address, issuer, makeRealm, realm } from './realm.ts';
import { walkApplications, type Seen } from './walk.ts';

const root = join(import.meta.dirname, '../..');
const profile = process.env['TESSERA_PROFILE'] ?? 'contract';

interface Server {
  stop(): Promise<void>;
}

/** Throws unless all four go on. Prints what each application knew of each person. Resolves with what happened. */
export async function moveApplications(browser: Browser): Promise<string> {
  installApplications();
  const running: Server[] = [];
  const start = async <T extends Server>(starting: Promise<T>): Promise<T> => {
    const server = await starting;
    running.unshift(server);
    return server;
  };
  const stop = async (server: Server) => {
    running.splice(running.indexOf(server), 1);
    await server.stop();
  };
  try {
    await start(startCorp(profile));
    const keycloak = await start(startKeycloak({ address }));
    await makeRealm(keycloak, corpInKeycloak);
    const applications = await start(startApplications());
    const walk = async (place: string) => {
      const seen = await walkApplications(browser).catch((error: unknown) => {
        throw new Error(`${place}: ${String(error)}\n${applications.output()}`, { cause: error });
      });
      process.stdout.write(tableOf(place, seen));
      return seen;
    };
    const before = await walk('Keycloak');
    await stop(keycloak);
    const tessera = await start(startMoved());
    const moved = await walk('Tessera');
    await stop(tessera);
    await start(startKeycloak({ address, keepsData: true }));
    const after = await walk('Keycloak again');
    for (const [index, { application, person, sub, audience }] of before.entries())
      for (const later of [moved[index], after[index]]) {
        const known = `${application} knows ${person} as before: ${JSON.stringify(later)}`;
        expect(later?.sub === sub && later.audience === audience, known);
      }
  } finally {
    for (const server of running) await server.stop();
  }
  return 'four applications went on at Tessera, and at Keycloak again';
}

/** Exports the realm of the Keycloak that was stopped, and serves it at its address. */
async function startMoved(): Promise<Server> {
  const file = join(root, 'test-output/examples/keycloak-move/realm.json');
  writeFileSync(file, JSON.stringify(exportRealm(realm)));
  const tessera = await startTessera(address, profile);
  const command = commandsOf(tessera.directory);
  try {
    command('import', 'keycloak', file, '--issuer', issuer, '--keep-wildcards');
  } catch (error) {
    await tessera.stop();
    throw error;
  }
  return tessera;
}

/** A line for each application and person. */
function tableOf(place: string, seen: readonly Seen[]): string {
  const names = ['application', 'person', 'sub', 'steps', 'audience', 'roles'] as const;
  const rows = [names, ...seen.map((each) => names.map((name) => each[name]))];
  const widths = names.map((_name, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `\n${place}\n${lines.join('\n')}\n`;
}
