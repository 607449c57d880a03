import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { median } from '../measure/median.ts';
import type { System } from '../systems.ts';
import type { LoadRequest, LoadResult } from './clients.ts';

const entry = fileURLToPath(new URL('clients.ts', import.meta.url));

/** Multiple of the capacity. */
const overloadFactor = 3;
const capacityConnections = 32;
const overloadConnections = 3_000;
const capacitySeconds = 10;
/** Share of the capacity that counts as recovered. */
const normalShare = 0.8;
const recoverySeconds = 10;

export interface Overload {
  readonly system: string;
  /** Tokens a second in a closed loop. */
  readonly capacity: number;
  readonly overloaded: LoadResult;
  /** Tokens a second under the overload, as a share of the capacity. */
  readonly goodput: number;
  /** Seconds from the end of the overload to the first second with 0.8 of the capacity. */
  readonly recoveredAfter: number;
}

/** Three times the capacity for `seconds`, then the capacity again, from one process of clients. */
export async function overload(system: System, name: string, seconds: number): Promise<Overload> {
  const clients = fork(entry, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const { baseUrl, seed, population } = system.target;
  const load = async (wanted: Pick<LoadRequest, 'seconds' | 'connections' | 'rate'>): Promise<LoadResult> => {
    clients.send({ baseUrl, seed, population, ...wanted });
    const [result] = (await once(clients, 'message')) as [LoadResult];
    return result;
  };
  try {
    await load({ seconds: 5, connections: capacityConnections });
    const { good } = await load({ seconds: capacitySeconds, connections: capacityConnections });
    const capacity = median([...good]);
    const overloaded = await load({
      seconds,
      connections: overloadConnections,
      rate: capacity * overloadFactor,
    });
    const recovery = await load({ seconds: recoverySeconds, connections: capacityConnections });
    const recoveredAfter = recovery.good.findIndex((count) => count >= normalShare * capacity);
    return {
      system: name,
      capacity,
      overloaded,
      goodput: median([...overloaded.good]) / capacity,
      recoveredAfter,
    };
  } finally {
    clients.disconnect();
  }
}

export function describeOverload({
  system,
  capacity,
  overloaded,
  goodput,
  recoveredAfter,
}: Overload): string {
  const { refused, failed, goodP99, refusedP99, good } = overloaded;
  return (
    `${system}: capacity ${capacity.toFixed(0)} tokens/s; at ${overloadFactor} times that for ${good.length} s ` +
    `goodput ${goodput.toFixed(2)} of it (p99 ${goodP99.toFixed(0)} ms), ${refused} refused ` +
    `(p99 ${refusedP99.toFixed(0)} ms), ${failed} failed otherwise; ` +
    `${recoveredAfter < 0 ? 'not normal' : `normal in second ${recoveredAfter + 1}`} after it\n`
  );
}
