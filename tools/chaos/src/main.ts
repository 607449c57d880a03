/**
 * `npm run test:chaos`: makes processes and stores fail under load, and checks what clients saw against the invariants.
 *
 *     main ─> scenarios/ ─> system/: replicas behind a balancer, stores
 *              └─> load/: clients of every flow ──> history/: recorder
 *     history/: checker <── what was recorded, audit rows, keys: which rule is broken ─> table
 */
import { parseArgs } from 'node:util';
import { startRestartablePostgres } from '@tessera/test-kit/provision';
import { play, type CleanUps, type Report } from './scenarios/scenario.ts';
import { scenarioNames, scenarioOf, type ScenarioName } from './scenarios/scenarios.ts';
import { table } from './table.ts';

const usage = `npm run test:chaos -- [--only <name>]... [--old <commit>] [--service <name>]... [--keep]
Scenarios: ${scenarioNames.join(', ')}
`;

/**
 * Resolves with the exit code. Everything that it starts listens on loopback and is stopped at the end, also at SIGINT
 * and SIGTERM.
 */
async function runChaos(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true },
      old: { type: 'string', default: defaultOld },
      service: { type: 'string', multiple: true },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const chosen = scenarioNames.filter((name) => values.only?.includes(name) ?? true);
  if (values.help || chosen.length === 0) {
    process.stdout.write(usage);
    return values.help ? 0 : 1;
  }
  const cleanUps: CleanUps = [];
  const onSignal = (): void => void cleanUp(cleanUps).finally(() => process.exit(130));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal);
  try {
    const reports = await playAll(chosen, values, cleanUps);
    process.stdout.write(`\n${table(reports)}`);
    return reports.length === chosen.length && reports.every(({ violations }) => violations.length === 0)
      ? 0
      : 1;
  } finally {
    await cleanUp(cleanUps);
  }
}

/** Default of `--old`: version 0.2.0. */
const defaultOld = '436ce768';

interface Chosen {
  readonly old: string;
  /** Those that `pairs` replaces; absent: all. */
  readonly service?: readonly string[] | undefined;
  readonly keep: boolean;
}

async function playAll(
  names: readonly ScenarioName[],
  { old, service: services, keep }: Chosen,
  cleanUps: CleanUps,
): Promise<readonly Report[]> {
  const postgres = await startRestartablePostgres();
  cleanUps.push(() => postgres.stop());
  const reports: Report[] = [];
  for (const name of names) {
    const own: CleanUps = [];
    cleanUps.push(() => cleanUp(own));
    const log = (line: string): void => void process.stdout.write(`${name}: ${line}\n`);
    try {
      const scenario = await scenarioOf(name, { old, services, cleanUps: own, log });
      const report = await play(scenario, postgres, { cleanUps: own, log, keep });
      tell(report, log);
      reports.push(report);
    } catch (error) {
      log(`broke off: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    } finally {
      await cleanUp(own);
    }
  }
  return reports;
}

const toldAtMost = 20;

function tell({ violations }: Report, log: (line: string) => void): void {
  for (const { invariant, text } of violations.slice(0, toldAtMost)) log(`${invariant} is broken: ${text}`);
  if (violations.length > toldAtMost) log(`and ${violations.length - toldAtMost} more`);
}

async function cleanUp(cleanUps: CleanUps): Promise<void> {
  for (let next = cleanUps.pop(); next !== undefined; next = cleanUps.pop()) {
    await next().catch((error: unknown) => process.stderr.write(`cleaning up: ${String(error)}\n`));
  }
}

process.exitCode = await runChaos(process.argv.slice(2));
