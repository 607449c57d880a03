import type { Mutant } from './mutant.ts';
import { runTests, type Durations, type TestPlan } from './run-tests.ts';

export interface Result {
  readonly mutant: Mutant;
  readonly outcome: 'killed' | 'timed out' | 'survived';
  /** The test file that failed first, or why no test could. */
  readonly remark: string;
  readonly seconds: number;
}

export interface MutationPlan {
  readonly mutants: readonly Mutant[];
  /** The folder of the tests that can notice a change of a file. */
  readonly testsOf: (path: string) => string;
  /** Number of mutants that are tested at the same time. */
  readonly jobs: number;
  /** Test processes of each. */
  readonly workers: number;
  readonly environment: NodeJS.ProcessEnv;
  /** A mutant hangs if its tests take this long and three times as long as those of the unchanged sources. */
  readonly graceSeconds: number;
  readonly say: (line: string) => void;
}

const hour = 3600;

/** What the tests of a folder need without a mutant. */
interface Unchanged {
  readonly limitSeconds: number;
  readonly durations: Durations;
}

/** Tests each mutant. Throws if the tests of the unchanged sources fail: nothing could be said then. */
export async function runMutants(plan: MutationPlan, interrupted: AbortSignal): Promise<Result[]> {
  const unchanged = await measureUnchanged(plan, interrupted);
  const results = new Map<Mutant, Result>();
  const noticed = new Map<string, string[]>();
  await inParallel(plan, plan.mutants, async (mutant) => {
    const { workers, environment } = plan;
    const tests = plan.testsOf(mutant.path);
    const before = noticed.get(mutant.path) ?? [];
    const { limitSeconds = hour, durations = {} } = unchanged.get(tests) ?? {};
    const task = { workers, environment, mutant, noticed: before, tests, limitSeconds, durations };
    const result = await runMutant(task, mutant, interrupted);
    if (result.outcome === 'killed') noticed.set(mutant.path, [...new Set([result.remark, ...before])]);
    results.set(mutant, result);
    const where = `${results.size}/${plan.mutants.length} ${mutant.path}:${mutant.line}`;
    plan.say(`${where}: ${mutant.change}: ${result.outcome}, ${Math.round(result.seconds)} s`);
  });
  return plan.mutants.flatMap((mutant) => results.get(mutant) ?? []);
}

async function inParallel<T>(
  { jobs }: MutationPlan,
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items].values();
  const worker = async () => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

/** By folder of tests. Measured with as many runs at a time as the mutants get. */
async function measureUnchanged(
  plan: MutationPlan,
  interrupted: AbortSignal,
): Promise<Map<string, Unchanged>> {
  const { workers, environment, graceSeconds } = plan;
  const unchanged = new Map<string, Unchanged>();
  const folders = new Set(plan.mutants.map(({ path }) => plan.testsOf(path)));
  await inParallel(plan, folders, async (tests) => {
    const all = { mutant: undefined, noticed: [], durations: {}, limitSeconds: hour };
    const { outcome, seconds } = await runTests({ workers, environment, tests, ...all }, interrupted);
    const durations = outcome?.durations ?? {};
    const files = Object.keys(durations).length;
    if (outcome === undefined || files === 0) throw new Error(`No tests ran in ${tests}.`);
    const [failed] = outcome.failed;
    if (failed !== undefined) throw new Error(`${failed} fails without a mutant: run npm test -- ${tests}`);
    unchanged.set(tests, { limitSeconds: graceSeconds + 3 * seconds, durations });
    plan.say(`${tests}: ${files} test files, ${Math.round(seconds)} s without a mutant`);
  });
  return unchanged;
}

async function runMutant(task: TestPlan, mutant: Mutant, interrupted: AbortSignal): Promise<Result> {
  const { outcome, seconds } = await runTests(task, interrupted);
  if (outcome === undefined)
    return { mutant, seconds, outcome: 'timed out', remark: 'ended at the time limit' };
  const [failed] = outcome.failed;
  if (failed !== undefined) return { mutant, seconds, outcome: 'killed', remark: failed };
  const remark = outcome.loaded ? 'no test failed' : 'no test loads the file';
  return { mutant, seconds, outcome: 'survived', remark };
}
