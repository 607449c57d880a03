import { Driver } from './driver/driver.ts';
import { median } from './measure/row.ts';
import type { System } from './systems.ts';
import type { FloodRequest, FloodResult } from './driver/flood.ts';

/** Share of the capacity that counts as recovered. */
const normalShare = 0.8;
const recoverySeconds = 10;
/** Applications that ask for their first token at once, right after the start. */
const startingApplications = 2_000;
/** The longest `Retry-After`, in seconds. */
const longestRetryAfter = 5;

type Wanted = Omit<FloodRequest, 'baseUrl' | 'seed' | 'population'>;

/** What tells the capacity. */
const usual: Wanted = { seconds: 10, connections: 32, honoursRetryAfter: false };

const overloads = [300, 1_000, 3_000].flatMap((connections) =>
  [false, true].map((honoursRetryAfter) => ({ connections, honoursRetryAfter })),
);

type Report = (line: string, isWrong: boolean) => void;

/**
 * Overloads each system in turn, from one process of clients: first by applications that start at once, then with every number of
 * connections for some seconds, with clients that ask again at once and with clients that honour `Retry-After`.
 */
export async function overload(systems: readonly System[], seconds: number, report: Report): Promise<void> {
  const driver = new Driver();
  try {
    for (const system of systems) await burst(system, driver, report);
    for (const load of overloads)
      for (const system of systems) await overloadOnce(system, { seconds, ...load }, driver, report);
  } finally {
    driver.stop();
  }
}

/** The first tokens of many applications at once, from one address. */
async function burst({ name, target }: System, driver: Driver, report: Report): Promise<void> {
  const applications = startingApplications;
  const { baseUrl, seed, population } = target;
  const result = await driver.flood({
    baseUrl,
    seed,
    population: { ...population, active: applications / population.tenants },
    seconds: 60,
    connections: applications,
    honoursRetryAfter: true,
    leaves: true,
  });
  const counts = Object.entries(result.answers).map(([answer, count]) => `${count} × ${answer}`);
  const isWrong =
    result.wrong + result.broken + result.timeOuts > 0 ||
    result.longestRetryAfter > longestRetryAfter ||
    result.answers['200'] !== applications;
  report(
    `${name}: first tokens of ${applications} applications at once: ${counts.join(', ')}, ` +
      `Retry-After at most ${result.longestRetryAfter} s; the last token after ${result.lastTokenAfter.toFixed(1)} s\n`,
    isWrong,
  );
}

/** Tokens a second of 32 connections before, during and after an overload. */
async function overloadOnce(
  { name, target }: System,
  wanted: Wanted,
  driver: Driver,
  report: Report,
): Promise<void> {
  const { baseUrl, seed, population } = target;
  const load = (one: Wanted): Promise<FloodResult> => driver.flood({ baseUrl, seed, population, ...one });
  const capacity = median((await load(usual)).good);
  const overloaded = await load(wanted);
  const after = await load({ ...usual, seconds: recoverySeconds });
  const normal = after.good.findIndex((count) => count >= normalShare * capacity);
  const { refused, timeOuts, broken, wrong, goodP50, goodP99, refusedP99, good } = overloaded;
  const clients = wanted.honoursRetryAfter ? 'honour Retry-After' : 'never pause';
  report(
    `${name}: ${wanted.connections} connections that ${clients}, ${good.length} s: ` +
      `goodput ${(median(good) / capacity).toFixed(2)} of ${capacity.toFixed(0)} tokens/s ` +
      `(p50 ${goodP50.toFixed(0)} ms, p99 ${goodP99.toFixed(0)} ms), ${refused} refused ` +
      `(p99 ${refusedP99.toFixed(0)} ms), ${timeOuts} time-outs, ${broken} broken connections, ${wrong} wrong answers; ` +
      `${normal < 0 ? 'not normal' : `normal in second ${normal + 1}`} after it\n`,
    // A token, a refusal with Retry-After and a time-out may happen; service that stops may not.
    wrong > 0 || overloaded.answers['200'] === undefined || normal < 0,
  );
}
