import { HttpClient, type Answer } from '@tessera/test-client';
import type { Target } from '../target.ts';
import type { HttpRequest } from './operation.ts';

const clients = new Map<string, HttpClient>();

/** The client for a system: few requests at once, so that nothing is refused, and it forgets what it receives. */
export function clientFor({ baseUrl }: Target): HttpClient {
  const client = clients.get(baseUrl) ?? new HttpClient(() => baseUrl, { connections: 8, remembers: false });
  clients.set(baseUrl, client);
  return client;
}

/** Sends one request; it waits while others are under way. */
export const send = (target: Target, { method, path, ...request }: HttpRequest): Promise<Answer> =>
  clientFor(target).ask(method, path, request);

/** What `make` resolves with for each number below `count`. */
export const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));
