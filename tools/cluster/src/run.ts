import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createNamespace, type Namespace } from './kubernetes.ts';
import { difference, startLoad, totals } from './load.ts';
import { keepLogs, type PodLogs } from './logs.ts';
import { certificatesOf, createRelease, openAuthority, type Topology } from './release.ts';
import { NotPossibleHere, type Scenario, type Stage } from './scenario.ts';
import { createSecrets, newSecret } from './secrets.ts';
import { createStores, type StoreImages } from './stores.ts';

export interface Plan {
  readonly topologies: readonly Topology[];
  readonly scenarios: readonly Scenario[];
  readonly image: string;
  readonly imageBefore: string | undefined;
  readonly valuesFile: string | undefined;
  readonly stores: StoreImages;
  readonly node: string | undefined;
  readonly helm: string;
  /** The directory for the logs of all pods, in a directory for each namespace. */
  readonly logs: string;
  /** Leaves the namespaces for a look. */
  readonly keep: boolean;
  readonly say: (line: string) => void;
}

/** A row of the table. */
export interface Result {
  readonly topology: Topology;
  readonly scenario: string;
  readonly outcome: 'passed' | 'FAILED' | 'not possible here';
  readonly requests: number;
  readonly errors: number;
  readonly seconds: number;
  /** Unexpected answers, the failure, or what the cluster lacks. */
  readonly remark: string;
}

/**
 * Each topology in a namespace of its own, one after the other. The namespaces end with the run, also when it is
 * interrupted.
 */
export async function runPlan(plan: Plan, interrupted: AbortSignal): Promise<Result[]> {
  const results: Result[] = [];
  for (const topology of plan.topologies) {
    const name = `tessera-test-${topology}-${randomBytes(3).toString('hex')}`;
    plan.say(`${topology}: namespace ${name}`);
    const on = await createNamespace(name, plan.helm);
    const logs = keepLogs(on, join(plan.logs, name));
    plan.say(`${topology}: logs of all pods in ${logs.directory}`);
    const interruption = Promise.withResolvers<never>();
    const stop = () => interruption.reject(new Error('interrupted'));
    interrupted.addEventListener('abort', stop);
    try {
      await Promise.race([runTopology(plan, topology, { on, logs }, results), interruption.promise]);
    } finally {
      interrupted.removeEventListener('abort', stop);
      logs.end();
      await on.end();
      if (!plan.keep) await on.remove();
    }
  }
  return results;
}

async function runTopology(
  plan: Plan,
  topology: Topology,
  { on, logs }: { readonly on: Namespace; readonly logs: PodLogs },
  results: Result[],
): Promise<void> {
  const started = performance.now();
  try {
    const stage = await prepare(plan, topology, on, logs);
    plan.say(`${topology}: installed after ${secondsSince(started)} s`);
    for (const scenario of plan.scenarios.filter(({ topologies = [topology] }) =>
      topologies.includes(topology),
    )) {
      plan.say(`${topology}: ${scenario.name} …`);
      const result = await runScenario(stage, scenario);
      plan.say(`${topology}: ${scenario.name}: ${result.outcome}${result.remark && ` (${result.remark})`}`);
      results.push(result);
      if (result.errors > 0 || result.outcome === 'FAILED') await explain(plan, stage);
      // A scenario that broke off leaves the release in a state that others do not start from.
      if (result.brokeOff) return;
    }
  } catch (error) {
    const row = { topology, scenario: 'preparation', requests: 0, errors: 0, seconds: secondsSince(started) };
    results.push({ ...row, outcome: 'FAILED', remark: messageOf(error) });
  }
}

/** Says the last unexpected answers, and what the processes logged about these requests. */
async function explain(plan: Plan, { load, logs }: Stage): Promise<void> {
  const unexpected = await load.unexpected();
  const ids = unexpected.map((line) => line.split(' ').at(-1) ?? '');
  for (const line of [...unexpected, ...logs.having(ids)]) plan.say(`  ${line}`);
}

async function prepare(plan: Plan, topology: Topology, on: Namespace, logs: PodLogs): Promise<Stage> {
  const { image, imageBefore, valuesFile, node } = plan;
  const authority = await openAuthority();
  await on.apply([...createSecrets(), ...(await certificatesOf(on, authority))]);
  await createStores(on, plan.stores, newSecret());
  const release = createRelease(on, { topology, image, imageBefore, valuesFile });
  await release.install();
  const load = await startLoad(on, { image, front: release.front, secretName: 'load' });
  return { on, release, load, logs, authority, image, stores: plan.stores, valuesFile, node };
}

async function runScenario(
  stage: Stage,
  scenario: Scenario,
): Promise<Result & { readonly brokeOff: boolean }> {
  const { load, release } = stage;
  const started = performance.now();
  const before = await load.counts();
  let outcome: Result['outcome'] = 'passed';
  let remark = '';
  let brokeOff = false;
  try {
    remark = (await scenario.run(stage)) ?? '';
    if (scenario.errors === 'until it recovers') await recovered(stage);
  } catch (error) {
    brokeOff = !(error instanceof NotPossibleHere);
    outcome = brokeOff ? 'FAILED' : 'not possible here';
    remark = messageOf(error);
  }
  const { all, errors, unexpected } = totals(difference(before, await load.counts()));
  if (scenario.errors === 'none' && errors > 0 && outcome === 'passed') outcome = 'FAILED';
  const seconds = secondsSince(started);
  const remarks = [remark, unexpected].filter((part) => part !== '').join('; ');
  return {
    topology: release.topology,
    scenario: scenario.name,
    outcome,
    requests: all,
    errors,
    seconds,
    remark: remarks,
    brokeOff,
  };
}

/** A hundred requests in a row get the expected answer, at the third attempt at the latest. */
async function recovered({ load }: Stage): Promise<void> {
  let remark = '';
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const { errors, unexpected } = totals(await load.more(100));
    if (errors === 0) return;
    remark = unexpected;
  }
  throw new Error(`requests still fail after the scenario: ${remark}`);
}

const secondsSince = (start: number) => Math.round((performance.now() - start) / 1000);
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** The results as a table of plain text. */
export function tableOf(results: readonly Result[]): string {
  const head = ['topology', 'scenario', 'outcome', 'requests', 'errors', 'seconds', ''];
  const rows = results.map((row) => [
    row.topology,
    row.scenario,
    row.outcome,
    String(row.requests),
    String(row.errors),
    String(row.seconds),
    row.remark.split('\n', 1)[0] ?? '',
  ]);
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [head, ...rows].map(line).join('\n');
}
