/** The clients of the overload measurement, in a process of their own: token requests by client credentials. */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { activeClients, type Population } from '../declared-state.ts';

export interface LoadRequest {
  readonly baseUrl: string;
  readonly seed: string;
  readonly population: Population;
  readonly seconds: number;
  /** Each sends its next request after a response. */
  readonly connections: number;
  /** Whether a client pauses for as long as `Retry-After` of a refusal says. */
  readonly honoursRetryAfter: boolean;
}

export interface LoadResult {
  /** Tokens of each second. */
  readonly good: readonly number[];
  /** 503 and 429 with Retry-After. */
  readonly refused: number;
  /** No response within the patience of the client. */
  readonly timeOuts: number;
  /** Broken connections and other statuses. */
  readonly failed: number;
  /** Milliseconds. */
  readonly goodP50: number;
  readonly goodP99: number;
  readonly refusedP99: number;
}

/** Time-out of a client. */
const patienceMs = 5_000;

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** Rejects with `late` after the patience of the client. */
function post(url: URL, body: string, agent: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const outgoing = httpRequest(url, { method: 'POST', headers, agent }, (incoming) => {
      incoming.on('error', reject);
      incoming.on('end', () => {
        clearTimeout(timer);
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers });
      });
      incoming.resume();
    });
    const timer = setTimeout(() => outgoing.destroy(late), patienceMs);
    outgoing.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    outgoing.end(body);
  });
}

const late = new Error('no response in time');

async function load(wanted: LoadRequest): Promise<LoadResult> {
  const { baseUrl, seconds, connections, honoursRetryAfter } = wanted;
  const bodies = activeClients(wanted).map(({ clientId, clientSecret }) =>
    JSON.stringify({ grantType: 'client_credentials', clientId, clientSecret, scope: 'orders.read' }),
  );
  const url = new URL('/token', baseUrl);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const good = Array.from({ length: seconds }, () => 0);
  const times: Record<'good' | 'refused', number[]> = { good: [], refused: [] };
  const counts = { timeOuts: 0, failed: 0 };
  let next = 0;
  const start = performance.now();
  const end = start + seconds * 1000;

  /** Resolves with how long to pause before the next request. */
  const ask = async (): Promise<number> => {
    const sentAt = performance.now();
    next += 1;
    const { status, headers } = await post(url, bodies[next % bodies.length] ?? '', agent);
    const now = performance.now();
    const retryAfter = headers['retry-after'];
    if (status === 200) {
      times.good.push(now - sentAt);
      const second = Math.floor((now - start) / 1000);
      if (second < seconds) good[second] = (good[second] ?? 0) + 1;
    } else if ((status === 429 || status === 503) && retryAfter !== undefined) {
      times.refused.push(now - sentAt);
      if (honoursRetryAfter) return Number(retryAfter) * 1000;
    } else counts.failed += 1;
    return 0;
  };
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      try {
        const pause = await ask();
        if (pause > 0) await sleep(Math.min(pause, Math.max(0, end - performance.now())));
      } catch (error) {
        counts[error === late ? 'timeOuts' : 'failed'] += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: connections }, client));
  agent.destroy();
  const quantile = (values: number[], share: number): number =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
  return {
    good,
    refused: times.refused.length,
    ...counts,
    goodP50: quantile(times.good, 0.5),
    goodP99: quantile(times.good, 0.99),
    refusedP99: quantile(times.refused, 0.99),
  };
}

process.on('message', (wanted: LoadRequest) => {
  void load(wanted).then((result) => process.send?.(result));
});
