import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runsEverything } from '@tessera/test-kit';
import { copyEmbeddedDatabase, eventually, freePort } from '@tessera/test-kit/provision';
import { entryOf } from '@tessera/test-client';
import { groupsOf, type SourceEdit } from './planted-defects.ts';
import { PatientProcess } from '../../harness/patient-process.ts';

const some = runsEverything ? groupsOf(3).slice(0, 1) : [];
const planted = process.env['TESSERA_TEST_DEFECTS'] === 'all' ? groupsOf(6) : some;

const hook = import.meta.resolve('./plant-defect.ts');

/** Starts compact with edits in its sources and runs commands beside it. */
async function start(edits: readonly SourceEdit[]) {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-e2e-'));
  const server = new PatientProcess('standalone', entryOf('standalone'), { nodeOptions: ['--import', hook] });
  onTestFinished(async () => {
    await server.kill();
    await rm(directory, { recursive: true, force: true });
  });
  const TESSERA_DATA_DIR = join(directory, 'data');
  await copyEmbeddedDatabase(join(TESSERA_DATA_DIR, 'database'));
  const port = String(await freePort());
  server.start({ TESSERA_DATA_DIR, TESSERA_HTTP_PORT: port, PLANTED_EDITS: JSON.stringify(edits) });
  await eventually('it is ready', async () => !server.running || server.output.includes('Tessera is ready'));
  expect(server.running, server.output).toBe(true);
  const environment = {
    PATH: process.env['PATH'] ?? '',
    TESSERA_DATA_DIR,
    TESSERA_ISSUER: `http://localhost:${port}`,
  };
  return {
    server,
    tessera: (...words: string[]) =>
      new Promise<{ code: number; out: string; said: string }>((resolve) => {
        const child = execFile(
          process.execPath,
          ['apps/cli/src/main.ts', ...words],
          { env: environment },
          (_error, out, said) => resolve({ code: child.exitCode ?? -1, out, said }),
        );
      }),
  };
}

describe('tessera smoke --isolation', () => {
  it('finds every crossing refused, and leaves nothing behind', async () => {
    const { tessera } = await start([]);
    const before = await tessera('tenant', 'list', '-o', 'json');
    const { code, said } = await tessera('smoke', '--isolation');
    expect(said).not.toMatch(/^bad/m);
    expect(code).toBe(0);
    expect(said.match(/^good {2}refused: /gm)?.length).toBeGreaterThan(250);
    expect(said).toMatch(
      /The tenants smoke-\w+ and smoke-\w+ are deleted\.\n\d+ crossings were refused\.\n$/,
    );
    expect((await tessera('tenant', 'list', '-o', 'json')).out).toBe(before.out);
  });

  it.each(planted.map((group) => [group.map(({ name }) => name).join('; '), group] as const))(
    'fails where %s, and deletes its tenants all the same',
    async (_names, group) => {
      const { tessera } = await start(group.flatMap(({ edits }) => edits));
      const { code, said } = await tessera('smoke', '--isolation');
      const bad = said.split('\n').filter((line) => line.startsWith('bad ') && line.includes(': answered'));
      const missed = group.filter(({ found }) => !bad.some((line) => line.startsWith(`bad   ${found}`)));
      expect(
        missed.map(({ name }) => name),
        said.slice(-2000),
      ).toEqual([]);
      expect(said).toContain('are deleted.');
      expect(code).toBe(1);
    },
  );
});
