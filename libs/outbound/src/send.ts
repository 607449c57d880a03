import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { PrivateAddressError, problemOf, publicLookup } from './public-address.ts';

export interface Message {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The result of one attempt. `refused` is final. */
export type Sent =
  { readonly outcome: 'delivered' } | { readonly outcome: 'refused' | 'failed'; readonly reason: string };

export type Send = (message: Message, signal: AbortSignal) => Promise<Sent>;

const timeoutMs = 5_000;

/**
 * Sends one POST. It follows no redirect and reads nothing of the response but its status. Without `allowPrivate` only
 * https to public addresses is allowed.
 */
export function createSend({ allowPrivate }: { readonly allowPrivate: boolean }): Send {
  return (message, signal) =>
    new Promise((resolve) => {
      const problem = allowPrivate ? undefined : problemOf(message.url);
      if (problem !== undefined) return resolve({ outcome: 'refused', reason: problem });
      const request = message.url.startsWith('https:') ? httpsRequest : httpRequest;
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const outgoing = request(
        message.url,
        {
          method: 'POST',
          headers: { ...message.headers, 'content-length': Buffer.byteLength(message.body) },
          agent: false,
          signal: limit,
          ...(allowPrivate ? {} : { lookup: publicLookup(limit) }),
        },
        (incoming) => {
          incoming.on('error', () => undefined);
          incoming.destroy();
          resolve(judge(incoming.statusCode ?? 0));
        },
      );
      outgoing.on('error', (error) => resolve(failure(error)));
      outgoing.end(message.body);
    });
}

function judge(status: number): Sent {
  if (status >= 200 && status < 300) return { outcome: 'delivered' };
  const reason = `status_${status}`;
  return status >= 500 || status === 429 ? { outcome: 'failed', reason } : { outcome: 'refused', reason };
}

function failure(error: Error): Sent {
  if (error instanceof PrivateAddressError) return { outcome: 'refused', reason: 'private_address' };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return { outcome: 'failed', reason: code.toLowerCase() };
}
