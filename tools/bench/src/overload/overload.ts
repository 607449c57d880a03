import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { median } from '../measure/median.ts';
import type { System } from '../systems.ts';
import type { Target } from '../target.ts';
import type { LoadRequest, LoadResult } from './clients.ts';

const entry = fileURLToPath(new URL('clients.ts', import.meta.url));

const capacityConnections = 32;
const capacitySeconds = 10;
/** Share of the capacity that counts as recovered. */
const normalShare = 0.8;
const recoverySeconds = 10;
/** Applications that ask for their first token at once, right after the start. */
const startingApplications = 2_000;
const startingSeconds = 60;
/** The longest `Retry-After`, in seconds. */
const longestRetryAfter = 5;

/** The first tokens of many applications at once, from one address. */
export interface Burst {
  readonly system: string;
  readonly applications: number;
  readonly result: LoadResult;
}

/** A load, and what each system made of it. */
export interface Overload {
  readonly system: string;
  readonly connections: number;
  readonly honoursRetryAfter: boolean;
  /** Tokens a second of 32 connections, just before. */
  readonly capacity: number;
  readonly overloaded: LoadResult;
  /** Tokens a second under the overload, as a share of the capacity. */
  readonly goodput: number;
  /** Seconds from the end of the overload to the first second with 0.8 of the capacity; undefined if there was none. */
  readonly recoveredAfter: number | undefined;
}

const overloads = [300, 1_000, 3_000].flatMap((connections) =>
  [false, true].map((honoursRetryAfter) => ({ connections, honoursRetryAfter })),
);

/**
 * Overloads each system in turn, from one process of clients: first by applications that start at once, then with every number of
 * connections for some seconds, with clients that ask again at once and with clients that honour `Retry-After`.
 */
export async function overload(
  systems: Readonly<Record<string, System>>,
  seconds: number,
  report: (line: string, isWrong: boolean) => void,
): Promise<void> {
  const clients = fork(entry, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const runner = (system: System): Load => {
    const { baseUrl, seed, population } = system.target;
    return async (wanted) => {
      clients.send({ baseUrl, seed, population, ...wanted });
      const [result] = (await once(clients, 'message')) as [LoadResult];
      return result;
    };
  };
  try {
    for (const [name, system] of Object.entries(systems)) {
      const burst = { system: name, ...(await burstOnce(runner(system), system.target)) };
      report(describeBurst(burst), isWrongBurst(burst));
    }
    for (const load of overloads) {
      for (const [name, system] of Object.entries(systems)) {
        const overloaded = { system: name, ...(await overloadOnce(runner(system), { seconds, ...load })) };
        report(describeOverload(overloaded), isWrong(overloaded));
      }
    }
  } finally {
    clients.disconnect();
  }
}

type Wanted = Omit<LoadRequest, 'baseUrl' | 'seed' | 'population'> & Partial<Pick<LoadRequest, 'population'>>;
type Load = (wanted: Wanted) => Promise<LoadResult>;

const usual: Wanted = {
  seconds: capacitySeconds,
  connections: capacityConnections,
  honoursRetryAfter: false,
};

async function burstOnce(load: Load, { population }: Target): Promise<Omit<Burst, 'system'>> {
  const applications = startingApplications;
  const active = applications / population.tenants;
  const result = await load({
    seconds: startingSeconds,
    connections: applications,
    honoursRetryAfter: true,
    leaves: true,
    population: { ...population, active },
  });
  return { applications, result };
}

/** Whether there was an answer besides a token and a refusal with a short `Retry-After`, or somebody got no token. */
const isWrongBurst = ({ applications, result }: Burst): boolean =>
  result.wrong > 0 ||
  result.broken > 0 ||
  result.timeOuts > 0 ||
  result.longestRetryAfter > longestRetryAfter ||
  result.answers['200'] !== applications;

/** Whether there was an answer besides a token and a refusal with Retry-After, no token at all, or no recovery. */
const isWrong = ({ overloaded, recoveredAfter }: Overload): boolean =>
  overloaded.wrong > 0 || overloaded.answers['200'] === undefined || recoveredAfter === undefined;

async function overloadOnce(load: Load, wanted: Wanted): Promise<Omit<Overload, 'system'>> {
  const capacity = median([...(await load(usual)).good]);
  const overloaded = await load(wanted);
  const recovery = await load({ ...usual, seconds: recoverySeconds });
  const normal = recovery.good.findIndex((count) => count >= normalShare * capacity);
  const { connections, honoursRetryAfter } = wanted;
  return {
    connections,
    honoursRetryAfter,
    capacity,
    overloaded,
    goodput: median([...overloaded.good]) / capacity,
    recoveredAfter: normal < 0 ? undefined : normal,
  };
}

function describeOverload(result: Overload): string {
  const { system, connections, honoursRetryAfter, capacity, overloaded, goodput, recoveredAfter } = result;
  const { refused, timeOuts, broken, wrong, goodP50, goodP99, refusedP99, good } = overloaded;
  const clients = honoursRetryAfter ? 'honour Retry-After' : 'never pause';
  return (
    `${system}: ${connections} connections that ${clients}, ${good.length} s: ` +
    `goodput ${goodput.toFixed(2)} of ${capacity.toFixed(0)} tokens/s ` +
    `(p50 ${goodP50.toFixed(0)} ms, p99 ${goodP99.toFixed(0)} ms), ${refused} refused ` +
    `(p99 ${refusedP99.toFixed(0)} ms), ${timeOuts} time-outs, ${broken} broken connections, ${wrong} wrong answers; ` +
    `${recoveredAfter === undefined ? 'not normal' : `normal in second ${recoveredAfter + 1}`} after it\n`
  );
}

function describeBurst({ system, applications, result }: Burst): string {
  const counts = Object.entries(result.answers).map(([answer, count]) => `${count} × ${answer}`);
  return (
    `${system}: first tokens of ${applications} applications at once: ${counts.join(', ')}, ` +
    `Retry-After at most ${result.longestRetryAfter} s; the last token after ${result.lastTokenAfter.toFixed(1)} s\n`
  );
}
