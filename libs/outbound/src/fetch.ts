import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Places } from './places.ts';
import { problemOf, publicLookup } from './public-address.ts';

/** What a request has besides its URL, as libraries that take a `fetch` give it. */
export interface FetchInit {
  readonly method?: string | undefined;
  readonly headers?: Headers | Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Asks an address that others chose. */
export type Fetch = (url: string, init?: FetchInit) => Promise<Response>;

/** An answer is larger than any that is expected. */
class LongAnswerError extends Error {
  override readonly name = 'LongAnswerError';
}

/**
 * A `fetch` for documents and tokens of other servers. It follows no redirect (CVE-2026-4366), takes answers of up to
 * `longestBytes`, not compressed, and gives up after `timeoutMs`. Without `allowPrivate` only https to public addresses
 * is allowed. Rejects if there is no answer, and outside of `hold`: who waits for a server of others is counted.
 */
export function createFetch({
  places,
  allowPrivate,
  timeoutMs,
  longestBytes,
  authority,
}: {
  readonly places: Pick<Places, 'isHeld'>;
  readonly allowPrivate: boolean;
  readonly timeoutMs: number;
  readonly longestBytes: number;
  /** PEM of the authorities of the server's certificate, read for each request; default: the usual ones. */
  readonly authority?: () => Promise<string>;
}): Fetch {
  return async (url, { method = 'GET', headers, body, signal } = {}) => {
    if (!places.isHeld()) throw new Error('a request waits for a server of others without a place');
    const problem = allowPrivate ? undefined : problemOf(url);
    if (problem !== undefined) throw new Error(`the address is refused: ${problem}`);
    const sent = bodyOf(body);
    const ca = await authority?.();
    const own = AbortSignal.timeout(timeoutMs);
    const limit = signal === undefined ? own : AbortSignal.any([signal, own]);
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const request = url.startsWith('https:') ? httpsRequest : httpRequest;
    const outgoing = request(
      url,
      {
        method,
        headers: { ...Object.fromEntries(new Headers(headers)), 'content-length': Buffer.byteLength(sent) },
        agent: false,
        signal: limit,
        ...(allowPrivate ? {} : { lookup: publicLookup(limit) }),
        ...(ca !== undefined && { ca }),
      },
      (incoming) => void answerOf(incoming, longestBytes).then(resolve, reject),
    );
    outgoing.on('error', reject);
    outgoing.end(sent);
    return promise;
  };
}

/** Libraries send forms and nothing else. */
function bodyOf(body: unknown): string {
  if (body === undefined || body === null) return '';
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString();
  throw new TypeError('only text is sent');
}

/** Statuses whose answers have no body (Fetch §2.2.3). */
const withoutBody = new Set([101, 103, 204, 205, 304]);

async function answerOf(incoming: IncomingMessage, longestBytes: number): Promise<Response> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > longestBytes) throw new LongAnswerError(`the answer has more than ${longestBytes} bytes`);
    chunks.push(chunk);
  }
  const status = incoming.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, value = ''] of Object.entries(incoming.headers))
    headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  return new Response(withoutBody.has(status) ? null : Buffer.concat(chunks), { status, headers });
}
