/** The clients of the overload measurement, in a process of their own: token requests by client credentials. */
import autocannon, { type Client } from 'autocannon';
import { activeClients, type Population } from '../declared-state.ts';

export interface LoadRequest {
  readonly baseUrl: string;
  readonly seed: string;
  readonly population: Population;
  readonly seconds: number;
  readonly connections: number;
  /** Requests a second; absent: each connection sends the next request after each response. */
  readonly rate?: number;
}

export interface LoadResult {
  /** Tokens of each second. */
  readonly good: readonly number[];
  /** 503 and 429 with Retry-After. */
  readonly refused: number;
  /** Late or broken responses, and other statuses. */
  readonly failed: number;
  /** Milliseconds. */
  readonly goodP99: number;
  readonly refusedP99: number;
}

/** Time-out of a client. */
const patienceSeconds = 5;

async function load({ baseUrl, seconds, connections, rate, ...declared }: LoadRequest): Promise<LoadResult> {
  const bodies = activeClients(declared).map(({ clientId, clientSecret }) =>
    JSON.stringify({ grantType: 'client_credentials', clientId, clientSecret, scope: 'orders.read' }),
  );
  const good = Array.from({ length: seconds }, () => 0);
  const times: Record<'good' | 'refused', number[]> = { good: [], refused: [] };
  let failed = 0;
  let next = 0;
  const start = performance.now();
  const answered = (status: number, sentAt: number, headers: Readonly<Record<string, unknown>>): void => {
    const now = performance.now();
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    if (status === 200) {
      times.good.push(now - sentAt);
      const second = Math.floor((now - start) / 1000);
      if (second < seconds) good[second] = (good[second] ?? 0) + 1;
    } else if ([429, 503].includes(status) && names.includes('retry-after')) times.refused.push(now - sentAt);
    else failed += 1;
  };
  const setupClient = (client: Client): void => {
    let sentAt = 0;
    client.setRequests([
      {
        setupRequest: (request) => {
          next += 1;
          sentAt = performance.now();
          const headers = { ...request.headers, 'content-type': 'application/json' };
          return {
            ...request,
            method: 'POST',
            path: '/token',
            headers,
            body: bodies[next % bodies.length] ?? '',
          };
        },
        onResponse: (status, _body, _context, headers) => answered(status, sentAt, headers),
      },
    ]);
  };
  const { errors } = await autocannon({
    url: baseUrl,
    connections,
    duration: seconds,
    timeout: patienceSeconds,
    setupClient,
    ...(rate === undefined ? {} : { overallRate: Math.round(rate) }),
  });
  const p99 = (values: number[]): number =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0;
  return {
    good,
    refused: times.refused.length,
    failed: failed + errors,
    goodP99: p99(times.good),
    refusedP99: p99(times.refused),
  };
}

process.on('message', (wanted: LoadRequest) => {
  void load(wanted).then((result) => process.send?.(result));
});
