import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { passedOn } from '../caller.ts';
import { secretOf } from '../declared-state.ts';

/** Request ids of these clients begin so: their tokens are in the audit trail, but not in the recorded history. */
export const unrecordedPrefix = 'unrecorded-';

/** Time-out of a client. */
const patienceMs = 30_000;

const clientId = 'north-service';
const body = JSON.stringify({
  grantType: 'client_credentials',
  clientId,
  clientSecret: secretOf(clientId),
});

/** What they got. */
export interface Outcomes {
  /** By status, with a remark if a 503 or 429 names no time; by the code of the connection's error without a response. */
  readonly counts: ReadonlyMap<string, number>;
  readonly seconds: number;
  /** The time within which 99 of 100 refusals came, in milliseconds. */
  readonly refusedP99: number;
}

/** Many clients that request tokens by client credentials, each over a connection of its own. */
export class TokenClients {
  readonly #agent: Agent;
  readonly #urls: readonly string[];
  readonly #size: number;
  #asked = 0;

  /** @param urls addresses of the gateways, used in turn */
  constructor(urls: readonly string[], size: number) {
    this.#urls = urls;
    this.#size = size;
    this.#agent = new Agent({ keepAlive: true, maxSockets: size });
  }

  /** Every client sends the next request after each response, and pauses after every other response than a token. */
  async askInTurn(seconds: number, pauseMs: number): Promise<Outcomes> {
    return this.#observe(seconds, async (ask, end) => {
      const client = async (): Promise<void> => {
        while (performance.now() < end) if ((await ask()) !== '200') await sleep(pauseMs);
      };
      await Promise.all(Array.from({ length: this.#size }, client));
    });
  }

  /** Sends `rate` requests a second, whether or not the earlier ones are answered, as long as a client is free. */
  async askAtRate(seconds: number, rate: number): Promise<Outcomes> {
    return this.#observe(seconds, async (ask, end) => {
      const from = performance.now();
      const unanswered = new Set<Promise<unknown>>();
      for (let due = 0, sent = 0; performance.now() < end; await sleep(5)) {
        due = ((performance.now() - from) / 1_000) * rate;
        for (; sent < due; sent += 1) {
          if (unanswered.size >= this.#size) continue;
          const asked = ask().finally(() => unanswered.delete(asked));
          unanswered.add(asked);
        }
      }
      await Promise.all(unanswered);
    });
  }

  leave(): void {
    this.#agent.destroy();
  }

  async #observe(
    seconds: number,
    work: (ask: () => Promise<string>, end: number) => Promise<void>,
  ): Promise<Outcomes> {
    const counts = new Map<string, number>();
    const refusedAfter: number[] = [];
    const ask = async (): Promise<string> => {
      const from = performance.now();
      const outcome = await this.#ask();
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      if (isRefusal(outcome)) refusedAfter.push(performance.now() - from);
      return outcome;
    };
    const from = performance.now();
    await work(ask, from + seconds * 1_000);
    refusedAfter.sort((a, b) => a - b);
    return {
      counts,
      seconds: (performance.now() - from) / 1_000,
      refusedP99: refusedAfter[Math.floor(refusedAfter.length * 0.99)] ?? 0,
    };
  }

  #ask(): Promise<string> {
    const at = (this.#asked += 1);
    const url = `${this.#urls[at % this.#urls.length]}/token`;
    const headers = {
      ...passedOn(`${unrecordedPrefix}${at}`),
      'content-type': 'application/json',
      'content-length': body.length,
    };
    return new Promise((resolve) => {
      const lost = (error: NodeJS.ErrnoException): void => resolve(error.code ?? 'connection lost');
      const outgoing = request(
        url,
        { method: 'POST', agent: this.#agent, headers, timeout: patienceMs },
        (incoming) => {
          const { statusCode = 0, headers: answered } = incoming;
          const isBare = isRefusal(String(statusCode)) && answered['retry-after'] === undefined;
          incoming.resume();
          incoming.on('end', () =>
            resolve(isBare ? `${statusCode} without Retry-After` : String(statusCode)),
          );
          incoming.on('error', lost);
        },
      );
      outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')));
      outgoing.on('error', lost);
      outgoing.end(body);
    });
  }
}

const isRefusal = (outcome: string): boolean => outcome === '503' || outcome === '429';

/** Throws if anything but tokens and refusals with Retry-After was answered, or no token at all. */
export function requireTokensOrRefusals({ counts }: Outcomes): void {
  const wrong = [...counts.keys()].filter(
    (outcome) => /^\d/.test(outcome) && outcome !== '200' && !isRefusal(outcome),
  );
  if (wrong.length > 0) throw new Error(`clients of an overloaded system got ${wrong.join(', ')}`);
  if (!counts.has('200')) throw new Error('no client got a token');
}

/** The outcomes in words. */
export function describeOutcomes({ counts, seconds, refusedP99 }: Outcomes): string {
  const listed = [...counts].map(([outcome, count]) => `${count} times ${outcome}`).join(', ');
  return `in ${seconds.toFixed(0)} s ${listed}; 99 of 100 refusals within ${refusedP99.toFixed(0)} ms`;
}
