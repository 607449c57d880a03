import { loadavg } from 'node:os';
import pg from 'pg';
import { freePort } from '@tessera/test-kit/provision';
import { residentMemory } from '../measure/processor-time.ts';
import { applyState, startTessera, type SystemOptions } from '../systems.ts';
import { adminCalls, type AdminCalls } from './admin-calls.ts';
import { applyOneTenant, workBetween, workOf, type AppliedTenant } from './apply-one-tenant.ts';
import { enlarge, largeTenant, manyTenants } from './large-directory.ts';
import { timeReads } from './reads.ts';

/** Milliseconds that 95 of 100 reads take at most. */
const targetMs = 50;
/** Rows that an apply may read for each row of its tenant. */
const targetReads = 10;
/** Memory after all reads are repeated, compared with before. */
const targetMemory = 1.1;

/** What the administration API costs with 10,000 tenants, 100,000 applications and 1,000,000 people; compact, one call after another. Resolves with the exit code. */
export async function recordsAtScale(
  options: SystemOptions,
  say: (text: string) => void,
  print: (line: string) => void,
): Promise<number> {
  const own = { ...options, population: manyTenants };
  const { databaseUrl } = own.stores;
  await applyState(own);
  say('enlarging one tenant');
  await enlarge(databaseUrl);
  const port = await freePort();
  const token = `bench-${options.seed}`;
  const environment = { TESSERA_ADMIN_PORT: String(port), TESSERA_RPC_TOKEN: token };
  const system = await startTessera('compact', { ...own, environment });
  try {
    const admin = adminCalls(port, token);
    const pid = system.processes[0]?.pid ?? 0;
    await measureReads(admin, { databaseUrl, memory: () => residentMemory(pid), say, print });
    say('applying one tenant');
    for (const line of describeApply(await applyOneTenant(admin, { databaseUrl, seed: own.seed })))
      print(line);
    return 0;
  } finally {
    await system.stop();
  }
}

interface Surroundings {
  readonly databaseUrl: string;
  readonly memory: () => number;
  readonly say: (text: string) => void;
  readonly print: (line: string) => void;
}

async function measureReads(
  admin: AdminCalls,
  { databaseUrl, memory, say, print }: Surroundings,
): Promise<void> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    say('reading, to warm up');
    await timeReads(admin);
    const [before, memoryBefore] = [await workOf(database), memory()];
    say('reading');
    const load = loadavg()[0] ?? 0;
    const timed = await timeReads(admin);
    print(`tenant ${largeTenant} has a tenth of all; load ${load.toFixed(1)} before`);
    for (const [call, { median, p95 }] of timed)
      print(
        `${call.padEnd(32)} median ${inMs(median)}, p95 ${inMs(p95)} ms of ${targetMs} ${verdict(p95 < targetMs)}`,
      );
    const { whole } = workBetween(before, await workOf(database));
    print(`whole tables read: ${whole.join(', ') || 'none'}`);
    await timeReads(admin);
    const memoryAfter = memory();
    const flat = verdict(memoryAfter <= memoryBefore * targetMemory);
    print(
      `memory ${memoryBefore.toFixed(0)} → ${memoryAfter.toFixed(0)} MiB after ${timed.length * 600} calls and 6,000 pages ${flat}`,
    );
  } finally {
    await database.end();
  }
}

function describeApply({ ms, own, read, changed, whole }: AppliedTenant): readonly string[] {
  return [
    `apply of one tenant, all others locked: ${ms.toFixed(0)} ms; ${read} rows read for its ${own} ` +
      `${verdict(read <= own * targetReads)}, ${changed} changed; whole tables read: ${whole.join(', ') || 'none'}`,
  ];
}

const inMs = (value: number): string => value.toFixed(1).padStart(6);

const verdict = (isMet: boolean): string => (isMet ? 'met' : 'not met');
