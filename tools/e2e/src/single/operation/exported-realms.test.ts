import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { installedDatabaseUrl } from '@tessera/test-kit';
import { eventually, freePort } from '@tessera/test-kit/provision';
import { entryOf, newKeys } from '@tessera/test-client';
import { PatientProcess } from '../../harness/patient-process.ts';

const root = fileURLToPath(new URL('../../../../../', import.meta.url));
/** Exports of realms: one that Keycloak wrote for an example, or all of a folder. */
const folder = process.env['TESSERA_TEST_REALMS'] ?? join(root, 'examples/keycloak');

interface Client {
  readonly clientId: string;
  readonly protocol?: string;
  readonly rootUrl?: string;
  readonly redirectUris?: readonly string[];
}
interface Export {
  readonly file: string;
  readonly clients: readonly Client[];
  readonly keycloakVersion?: string;
}

const own = /^(account(-console)?|admin-cli|broker|realm-management|security-admin-console)$/;

async function exportsOf(path: string): Promise<readonly Export[]> {
  const names = (await readdir(path)).filter((name) => name.endsWith('.json')).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const file = join(path, name);
      const text = (await readFile(file, 'utf8')).replace(/^\uFEFF/, '');
      const content = JSON.parse(text) as Omit<Export, 'file'>;
      return { ...content, file, clients: content.clients.filter(({ clientId }) => !own.test(clientId)) };
    }),
  );
}

/** Lists of exports that can be in one installation: a client ID is there once. */
function apart(exports: readonly Export[]): Export[][] {
  const lists: { readonly taken: Set<string>; readonly exports: Export[] }[] = [];
  for (const each of exports) {
    const ids = each.clients.map(({ clientId }) => clientId);
    let place = lists.find(({ taken }) => ids.every((id) => !taken.has(id)));
    if (place === undefined) lists.push((place = { taken: new Set(), exports: [] }));
    for (const id of ids) place.taken.add(id);
    place.exports.push(each);
  }
  return lists.map((list) => list.exports);
}

/** What an operator would say for each client of a template: a page below the address that has a wildcard. */
function filledIn(template: string, clients: readonly Client[]): string {
  const named = [...template.matchAll(/^(".*"):$/gm)].map(([, id = '']) => JSON.parse(id) as string);
  const lines = named.map((id, index) => {
    const { rootUrl = '', redirectUris = [] } = clients.find(({ clientId }) => clientId === id) ?? {};
    const whole = redirectUris.map((uri) => (uri.startsWith('/') ? `${rootUrl}${uri}` : uri));
    const below = whole
      .filter((uri) => /^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1)[:/])[^*{]+\/\*$/.test(uri))
      .map((uri) => uri.replace('*', 'callback').toLowerCase());
    const uris = below.length > 0 ? below : [`https://app-${index}.example/callback`];
    return `${JSON.stringify(id)}: { redirectUris: ${JSON.stringify(uris)} }`;
  });
  return `${lines.join('\n')}\n`;
}

async function installation() {
  const DATABASE_URL = await installedDatabaseUrl();
  const keys = newKeys();
  const port = await freePort();
  const server = new PatientProcess('standalone', entryOf('standalone'));
  onTestFinished(async () => server.kill());
  server.start({
    ...keys,
    DATABASE_URL,
    TESSERA_HTTP_PORT: String(port),
    TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: '100000',
  });
  const base = `http://127.0.0.1:${port}`;
  const metadata = `${base}/.well-known/openid-configuration`;
  await eventually('it serves', async () => (await fetch(metadata).catch(() => undefined))?.ok === true);
  const tessera = async (...words: string[]) =>
    new Promise<{ readonly code: number; readonly out: string; readonly said: string }>((resolve) => {
      const env = { PATH: process.env['PATH'] ?? '', ...keys, DATABASE_URL };
      const options = { cwd: root, env, maxBuffer: 100_000_000 };
      const all = ['apps/cli/src/main.ts', ...words, '--direct'];
      execFile(process.execPath, all, options, (error, out, said) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, said }),
      );
    });
  return { base, tessera, stop: async () => server.stop() };
}

/** What became of the clients of a realm. */
function countsOf(out: string, { clients }: Export) {
  const lines = out.split('\n');
  const has = (begin: string) => lines.filter((line) => line.startsWith(begin)).length;
  const of = ({ clientId }: Client) => ({
    arrived: lines.includes(`arrived: application ${clientId}`),
    wasDisabled: lines.includes(`arrived: application ${clientId}, disabled as before`),
    disabled: has(`to do: application ${clientId}: comes disabled: `) === 1,
    resource: has(`left out: application ${clientId}: an API is no application`) === 1,
    leftOut: has(`left out: application ${clientId}: `) > 0,
    works: has(`working: application ${clientId}: `) === 1,
  });
  const found = clients.map((client) => ({ clientId: client.clientId, ...of(client) }));
  const count = (is: (each: (typeof found)[number]) => boolean) => found.filter(is).length;
  return {
    clients: clients.length,
    works: count(({ works }) => works),
    wasDisabled: count(({ wasDisabled }) => wasDisabled),
    disabled: count(({ disabled }) => disabled),
    resource: count(({ resource }) => resource),
    leftOut: count(
      ({ leftOut, resource, arrived, disabled }) => leftOut && !resource && !arrived && !disabled,
    ),
    silent: found
      .filter((each) => !each.arrived && !each.wasDisabled && !each.disabled && !each.leftOut)
      .map(({ clientId }) => clientId),
    fails: lines.filter((line) => line.startsWith('not working: ')),
  };
}

const columns = ['clients', 'works', 'wasDisabled', 'disabled', 'resource', 'leftOut'] as const;
type Counts = Record<(typeof columns)[number], number>;
const print = (...cells: readonly (string | number)[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`);

it.each([
  ['without a word on redirect URIs', false],
  ['with redirect URIs for those of the template', true],
])('clients of exported realms work, or are to do, %s', async (title, isFilled) => {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-realms-'));
  onTestFinished(async () => rm(directory, { recursive: true }));
  const total: Counts = { clients: 0, works: 0, wasDisabled: 0, disabled: 0, resource: 0, leftOut: 0 };
  const problems: string[] = [];
  let next = 0;
  print(title, 'version', 'bytes', ...columns);
  for (const together of apart(await exportsOf(folder))) {
    const { base, tessera, stop } = await installation();
    for (const each of together) {
      const tenant = `realm-${(next += 1)}`;
      const chosen: string[] = [];
      if (isFilled) {
        const template = await tessera('import', 'keycloak', each.file, '--redirect-uris-template');
        const path = join(directory, `${tenant}.yaml`);
        await writeFile(path, filledIn(template.out, each.clients));
        chosen.push('--redirect-uris', path);
      }
      const issuer = `${base}/realms/${tenant}`;
      const words = ['import', 'keycloak', each.file, '--tenant', tenant, '--issuer', issuer, ...chosen];
      const { code, out, said } = await tessera(...words, '--verify');
      const counts = countsOf(out, each);
      for (const column of columns) total[column] += counts[column];
      const name = basename(each.file, '.json');
      print(
        name,
        each.keycloakVersion ?? '',
        (await readFile(each.file)).length,
        ...columns.map((c) => counts[c]),
      );
      if (code !== 0) problems.push(`${name}: exit code ${code}: ${said.split('\n').slice(-3).join(' ')}`);
      problems.push(
        ...[...counts.silent.map((id) => `no line: ${id}`), ...counts.fails].map(
          (line) => `${name}: ${line}`,
        ),
      );
    }
    expect(await stop()).toBe(0);
  }
  print('all', '', '', ...columns.map((column) => total[column]));
  expect(problems).toEqual([]);
  expect(total.clients - total.leftOut).toBeGreaterThanOrEqual(Math.floor(0.9 * total.clients));
});
