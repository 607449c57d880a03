import { Driver } from './driver/driver.ts';
import type { FloodRequest, FloodResult } from './driver/flood.ts';
import type { Bench } from './measure/measure.ts';
import { median } from './measure/row.ts';
import type { Options } from './options.ts';
import { startTessera, withSystems, type System, type SystemOptions } from './systems.ts';

/** Share of the capacity that counts as recovered. */
const normalShare = 0.8;
const recoverySeconds = 10;
/** Applications that ask for their first token at once, right after the start. */
const startingApplications = 2_000;
/** The longest `Retry-After`, in seconds. */
const longestRetryAfter = 5;

/** What tells the capacity. */
const usual = { seconds: 10, connections: 32 };
const overloads = [300, 1_000, 3_000];

type Print = Bench['print'];

/**
 * Overloads this checkout, and others in turn, from one process of clients: first by applications that start at once,
 * then with every number of connections for some seconds.
 */
export async function overload(
  { topologies, beside }: Options,
  seconds: number,
  { print }: Bench,
  options: SystemOptions,
): Promise<boolean> {
  const roots = [{}, ...beside.map((root) => ({ root }))];
  let isWrong = false;
  for (const topology of topologies) {
    const starts = roots.map((root) => () => startTessera(topology, { ...options, ...root }));
    await withSystems(starts, async (systems) => {
      const driver = new Driver();
      try {
        for (const system of systems) isWrong = (await burst(system, driver, print)) || isWrong;
        for (const connections of overloads)
          for (const system of systems)
            isWrong = (await overloadOnce(system, { seconds, connections }, driver, print)) || isWrong;
      } finally {
        driver.stop();
      }
    });
  }
  return isWrong;
}

/** The first tokens of many applications at once, from one address. Resolves with whether an answer was wrong. */
async function burst({ name, target }: System, driver: Driver, print: Print): Promise<boolean> {
  const applications = startingApplications;
  const { baseUrl, seed, population } = target;
  const result = await driver.flood({
    baseUrl,
    seed,
    population: { ...population, active: applications / population.tenants },
    seconds: 60,
    connections: applications,
    clients: 'starting',
  });
  const counts = Object.entries(result.answers).map(([answer, count]) => `${count} × ${answer}`);
  print(
    `${name}: first tokens of ${applications} applications at once: ${counts.join(', ')}, ` +
      `Retry-After at most ${result.longestRetryAfter} s; the last token after ${result.lastTokenAfter.toFixed(1)} s`,
  );
  return (
    result.wrong + result.broken + result.timeOuts > 0 ||
    result.longestRetryAfter > longestRetryAfter ||
    result.answers['200'] !== applications
  );
}

/**
 * Tokens a second of 32 connections before, during and after an overload. Resolves with whether service stopped or an
 * answer was wrong.
 */
async function overloadOnce(
  { name, target }: System,
  wanted: Pick<FloodRequest, 'seconds' | 'connections'>,
  driver: Driver,
  print: Print,
): Promise<boolean> {
  const { baseUrl, seed, population } = target;
  const load = (one: typeof wanted): Promise<FloodResult> =>
    driver.flood({ baseUrl, seed, population, clients: 'pressing', ...one });
  const capacity = median((await load(usual)).good);
  const overloaded = await load(wanted);
  const { refused, timeOuts, broken, wrong, goodP50, goodP99, refusedP99, good } = overloaded;
  const after = await load({ ...usual, seconds: recoverySeconds });
  const normal = after.good.findIndex((count) => count >= normalShare * capacity);
  print(
    `${name}: ${wanted.connections} connections, ${good.length} s: ` +
      `goodput ${(median(good) / capacity).toFixed(2)} of ${capacity.toFixed(0)} tokens/s ` +
      `(p50 ${goodP50.toFixed(0)} ms, p99 ${goodP99.toFixed(0)} ms), ${refused} refused ` +
      `(p99 ${refusedP99.toFixed(0)} ms), ${timeOuts} time-outs, ${broken} broken connections, ${wrong} wrong answers; ` +
      `${normal < 0 ? 'not normal' : `normal in second ${normal + 1}`} after it`,
  );
  // A token, a refusal with Retry-After and a time-out may happen; service that stops may not.
  return wrong > 0 || overloaded.answers['200'] === undefined || normal < 0;
}
