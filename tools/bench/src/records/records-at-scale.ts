import { loadavg } from 'node:os';
import { callAsOperator } from '@tessera/test-client';
import { freePort } from '@tessera/test-kit/provision';
import pg from 'pg';
import type { Bench } from '../measure/measure.ts';
import { residentMemory } from '../processor-time.ts';
import { applyState, startTessera, withSystems, type SystemOptions } from '../systems.ts';
import { applyOneTenant } from './apply-one-tenant.ts';
import { timeConsole, withConsole } from './console-reads.ts';
import { enlarge, largeTenant, manyTenants } from './large-directory.ts';
import { timeReads, type Timed } from './reads.ts';
import { readsDuring } from './table-reads.ts';

/** Milliseconds that 95 of 100 reads take at most. */
const targetMs = 50;
/** Of a page of the console. */
const targetPageMs = 150;
/** Rows that an apply may read for each row of its tenant. */
const targetReads = 10;
/** Memory after all reads are repeated, compared with before. */
const targetMemory = 1.1;

/**
 * What the administration API and the console cost with 10,000 tenants, 100,000 applications and 1,000,000 people;
 * compact, one call after another.
 */
export async function recordsAtScale(options: SystemOptions, { say, print }: Bench): Promise<boolean> {
  const { stores, seed } = options;
  const { databaseUrl } = stores;
  const own = { ...options, population: manyTenants };
  await applyState(own);
  say('enlarging one tenant');
  await enlarge(databaseUrl);
  const port = await freePort();
  const token = `bench-${seed}`;
  const call = async <T>(method: string, request: object) => callAsOperator<T>(port, token, method, request);
  const environment = {
    TESSERA_ADMIN_PORT: String(port),
    TESSERA_RPC_TOKEN: token,
    ...withConsole(port, seed),
  };
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    await withSystems([() => startTessera('compact', { ...own, environment })], async ([system]) => {
      const memory = (): number => residentMemory(system?.processes[0]?.pid ?? 0);
      say('reading, to warm up');
      await timeReads(call);
      say('reading');
      const [load, memoryBefore] = [loadavg()[0] ?? 0, memory()];
      const [timed, { whole }] = await readsDuring(database, () => timeReads(call));
      print(`tenant ${largeTenant} has a tenth of all; load ${load.toFixed(1)} before`);
      for (const each of timed) print(lineOf(each, targetMs));
      print(`whole tables read: ${whole.join(', ') || 'none'}`);
      await timeReads(call);
      const memoryAfter = memory();
      print(
        `memory ${memoryBefore.toFixed(0)} → ${memoryAfter.toFixed(0)} MiB after ${timed.length * 600} calls and 6,000 pages ` +
          verdict(memoryAfter <= memoryBefore * targetMemory),
      );
      say('opening pages of the console');
      const pages = await timeConsole(system?.target.baseUrl ?? '', { port, token });
      for (const each of pages) print(lineOf(each, targetPageMs));
      say('applying one tenant');
      const { ms, own: rows, reads } = await applyOneTenant(call, database, { databaseUrl, seed });
      print(
        `apply of one tenant, all others locked: ${ms.toFixed(0)} ms; ${reads.rows} rows read for its ${rows} ` +
          `${verdict(reads.rows <= rows * targetReads)}; whole tables read: ${reads.whole.join(', ') || 'none'}`,
      );
    });
  } finally {
    await database.end();
  }
  return false;
}

const lineOf = ({ what, median, p95 }: Timed, target: number): string =>
  `${what.padEnd(32)} median ${inMs(median)}, p95 ${inMs(p95)} ms of ${target} ${verdict(p95 < target)}`;

const inMs = (value: number): string => value.toFixed(1).padStart(6);

const verdict = (isMet: boolean): string => (isMet ? 'met' : 'not met');
