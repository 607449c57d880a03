import autocannon from 'autocannon';
import type { HttpLoad } from '../operations/operation.ts';
import { note } from './failures.ts';
import type { ClosedLoopResult } from './messages.ts';

export interface ClosedLoop {
  readonly inFlight: number;
  readonly seconds: number;
  /** What part of a limited number of requests may be used. */
  readonly share: number;
}

/** Keeps `inFlight` requests under way until time or requests are over. Whatever is not the right answer is an error. */
export async function closedLoop(
  baseUrl: string,
  load: HttpLoad,
  loop: ClosedLoop,
): Promise<ClosedLoopResult> {
  let errors = 0;
  const started = performance.now();
  const amount = load.limit === undefined ? undefined : Math.floor(load.limit * loop.share);
  const result = await autocannon({
    url: baseUrl,
    connections: Math.min(loop.inFlight, amount ?? loop.inFlight),
    ...(amount === undefined ? { duration: loop.seconds } : { amount }),
    sampleInt: 100,
    requests: [
      {
        setupRequest: (request) => {
          const next = load.next();
          // autocannon writes into the headers.
          return { ...request, ...next, headers: { ...next.headers } };
        },
        onResponse: (status, body, _context, headers) => {
          if (load.accept({ status, body, headers: lowerCase(headers) })) return;
          errors += 1;
          note(`HTTP ${status}`);
        },
      },
    ],
  });
  note('no answer', result.errors);
  return {
    operations: result.requests.total - errors,
    errors: errors + result.errors,
    seconds: (performance.now() - started) / 1000,
  };
}

function lowerCase(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
