import autocannon, { type Client } from 'autocannon';
import type { HttpLoad } from '../operations/operation.ts';
import type { LoopResult } from './driver.ts';
import { note } from './failures.ts';

export interface ClosedLoop {
  readonly inFlight: number;
  readonly seconds: number;
  /** The share of a limited number of requests that may be used. */
  readonly share: number;
}

/** How long to wait for responses after the end; autocannon gives up on each after ten seconds. */
const patienceSeconds = 30;

/**
 * Keeps `inFlight` requests in flight until the time or the requests are used up, and waits for the last responses.
 * A wrong or missing response is an error.
 */
export async function closedLoop(baseUrl: string, load: HttpLoad, loop: ClosedLoop): Promise<LoopResult> {
  let errors = 0;
  const started = performance.now();
  const amount = load.limit === undefined ? undefined : Math.floor(load.limit * loop.share);
  const clients: Client[] = [];
  const endClients = () => {
    // By default, autocannon drops requests in flight.
    for (const client of clients) client.responseMax = client.reqsMade;
  };
  const timeIsOver = amount === undefined ? setTimeout(endClients, loop.seconds * 1000) : undefined;
  const result = await autocannon({
    url: baseUrl,
    connections: Math.min(loop.inFlight, amount ?? loop.inFlight),
    ...(amount === undefined ? { duration: loop.seconds + patienceSeconds } : { amount }),
    setupClient: (client) => clients.push(client),
    sampleInt: 20,
    requests: [
      {
        setupRequest: (request) => {
          const next = load.next();
          // autocannon writes into the headers.
          return { ...request, ...next, headers: { ...next.headers } };
        },
        onResponse: (status, body, _context, headers) => {
          if (load.accept({ status, text: body, headers: lowerCase(headers) })) return;
          errors += 1;
          note(`HTTP ${status}`);
        },
      },
    ],
  });
  clearTimeout(timeIsOver);
  const unanswered = Math.max(result.errors, result.requests.sent - result.requests.total);
  note('no answer', unanswered);
  return {
    operations: result.requests.total - errors,
    errors: errors + unanswered,
    seconds: (performance.now() - started) / 1000,
  };
}

function lowerCase(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
