import { Agent, request as httpRequest } from 'node:http';
import type { HttpAnswer, HttpRequest } from '../operations/operation.ts';

const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const timeout = 30_000;

/** Sends one request over a persistent connection. */
export function send(baseUrl: string, request: HttpRequest): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const { method, path, headers, body } = request;
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options = { method, headers: { ...headers, ...length }, agent, timeout };
    const outgoing = httpRequest(new URL(path, baseUrl), options, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          body: Buffer.concat(chunks).toString('utf8'),
        }),
      );
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer within 30 s')));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Runs `work` for every item, several at a time; the results are in the order of the items. */
export async function eachOf<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
  atOnce = 32,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next; index < items.length; index = next) {
      next += 1;
      results[index] = await work(items[index] as T, index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}

export const times = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
