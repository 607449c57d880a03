import {
  TokenClients,
  describeOutcomes,
  requireTokensOrRefusals,
  type Outcomes,
} from './load/token-clients.ts';
import type { Stage } from './scenario.ts';

const overloadSeconds = 20;
const overloadFactor = 3;
const fewClients = 32;
/** Of two replicas: more new connections at once would wait in the system's queue of each, where nobody can refuse them. */
const overloadClients = 1_000;
const manyClients = 2_000;
/** Pause of a client after a 503, well below its Retry-After. */
const pauseMs = 200;
/** Maximum time of 99 of 100 refusals, and from the end of an overload until nobody is refused. */
const quickMs = 5_000;

/** Three times more requests than the system can answer: it serves what it can, refuses the rest quickly, and is normal after it. */
export async function overload({ cluster, recorder, log, stretch }: Stage): Promise<void> {
  const few = new TokenClients(cluster.gateways, fewClients);
  const many = new TokenClients(cluster.gateways, overloadClients);
  try {
    const capacity = await capacityFor(few);
    const over = recorder.fault('stop', `${overloadFactor} times the capacity`);
    const outcomes = await many.askAtRate(overloadSeconds, capacity * overloadFactor);
    over();
    const sent = [...outcomes.counts.values()].reduce((sum, count) => sum + count, 0);
    const goodput = tokensPerSecond(outcomes) / capacity;
    log(
      `capacity ${capacity.toFixed(0)} tokens/s; at ${(sent / overloadSeconds / capacity).toFixed(1)} times that ` +
        `${describeOutcomes(outcomes)}; goodput ${goodput.toFixed(2)} of the capacity`,
    );
    requireTokensOrRefusals(outcomes);
    const quick = quickMs * stretch();
    if (outcomes.refusedP99 > quick) throw new Error(`refusals took ${Math.round(outcomes.refusedP99)} ms`);
    log(`normal ${Math.round(await untilNormal(few, quick))} ms after the overload`);
  } finally {
    few.leave();
    many.leave();
  }
}

/** Tokens a second, in the best of three turns: other work on the machine takes its share of each. */
async function capacityFor(clients: TokenClients): Promise<number> {
  let best = 0;
  for (let turn = 0; turn < 3; turn += 1)
    best = Math.max(best, tokensPerSecond(await clients.askInTurn(3, pauseMs)));
  return best;
}

const tokensPerSecond = ({ counts, seconds }: Outcomes): number => (counts.get('200') ?? 0) / seconds;

/** Milliseconds until every client is served for a second. Throws if that takes more than `limitMs`. */
async function untilNormal(clients: TokenClients, limitMs: number): Promise<number> {
  const from = performance.now();
  for (let ms = 0; ms <= limitMs; ms = performance.now() - from) {
    const { counts } = await clients.askInTurn(1, pauseMs);
    if (counts.size === 1 && counts.has('200')) return ms;
  }
  throw new Error(`clients were still refused ${Math.round(limitMs)} ms after the overload`);
}

/** Many clients at once, each the next request as soon as it has a response: each gets a token or 503 with Retry-After. */
export async function admitMany({ cluster, recorder, log }: Stage): Promise<void> {
  const clients = new TokenClients(cluster.gateways, manyClients);
  const over = recorder.fault('stop', `${manyClients} clients`);
  try {
    const outcomes = await clients.askInTurn(overloadSeconds, pauseMs);
    log(`${manyClients} clients ${describeOutcomes(outcomes)}`);
    requireTokensOrRefusals(outcomes);
  } finally {
    over();
    clients.leave();
  }
}
