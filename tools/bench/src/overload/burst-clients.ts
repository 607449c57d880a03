/** The clients of a burst, in a process of their own: each application has one connection and asks until it has a token. */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { activeClients, type Client, type Population } from '../declared-state.ts';

export interface BurstRequest {
  readonly baseUrl: string;
  readonly seed: string;
  readonly population: Population;
}

export interface BurstResult {
  readonly applications: number;
  /** Answers by status: to the first requests, and to all. Without an answer, the code of the error. */
  readonly first: Readonly<Record<string, number>>;
  readonly answers: Readonly<Record<string, number>>;
  readonly longestRetrySeconds: number;
  /** Applications that got a token. */
  readonly served: number;
  /** Seconds until the last of them had it. */
  readonly seconds: number;
}

const mostAttempts = 20;
const timeoutMs = 30_000;
/** A client that is told to wait for longer gives up. */
const patienceSeconds = 30;

interface Answer {
  readonly status: string;
  readonly retryAfter: number;
}

function ask(baseUrl: string, { clientId, clientSecret }: Client, agent: Agent): Promise<Answer> {
  const body = JSON.stringify({
    grantType: 'client_credentials',
    clientId,
    clientSecret,
    scope: 'orders.read',
  });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve) => {
    const failed = ({ code }: NodeJS.ErrnoException) => resolve({ status: code ?? 'failed', retryAfter: 0 });
    const options = { method: 'POST', headers, agent, timeout: timeoutMs };
    const outgoing = request(new URL('/token', baseUrl), options, (incoming) => {
      incoming.resume();
      incoming.on('error', failed);
      incoming.on('end', () =>
        resolve({
          status: String(incoming.statusCode),
          retryAfter: Number(incoming.headers['retry-after'] ?? 0),
        }),
      );
    });
    outgoing.on('timeout', () =>
      outgoing.destroy(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })),
    );
    outgoing.on('error', failed);
    outgoing.end(body);
  });
}

async function burst({ baseUrl, ...declared }: BurstRequest): Promise<BurstResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  const clients = activeClients(declared);
  const first: Record<string, number> = {};
  const answers: Record<string, number> = {};
  let longestRetrySeconds = 0;
  let served = 0;
  const start = performance.now();
  let lastServed = start;
  const one = async (client: Client): Promise<void> => {
    for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
      const { status, retryAfter } = await ask(baseUrl, client, agent);
      answers[status] = (answers[status] ?? 0) + 1;
      if (attempt === 0) first[status] = (first[status] ?? 0) + 1;
      longestRetrySeconds = Math.max(longestRetrySeconds, retryAfter);
      if (status === '200') {
        served += 1;
        lastServed = performance.now();
        return;
      }
      if (retryAfter > patienceSeconds) return;
      await sleep(Math.max(1, retryAfter) * 1000);
    }
  };
  await Promise.all(clients.map(one));
  agent.destroy();
  return {
    applications: clients.length,
    first,
    answers,
    longestRetrySeconds,
    served,
    seconds: (lastServed - start) / 1000,
  };
}

process.on('message', (wanted: BurstRequest) => {
  void burst(wanted).then((result) => process.send?.(result));
});
