import { HttpClient, type Answer } from '@tessera/test-client';
import type { HttpRequest } from '../operations/operation.ts';

const clients = new Map<string, HttpClient>();

/** The client for a system, which keeps its connections and forgets what it receives. */
export function clientFor(baseUrl: string): HttpClient {
  const known = clients.get(baseUrl);
  if (known !== undefined) return known;
  const client = new HttpClient(() => baseUrl, { connections: 256, remembers: false });
  clients.set(baseUrl, client);
  return client;
}

/** Sends one request over a persistent connection. */
export const send = (baseUrl: string, { method, path, ...request }: HttpRequest): Promise<Answer> =>
  clientFor(baseUrl).ask(method, path, request);

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
