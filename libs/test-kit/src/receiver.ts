import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from './eventually.ts';

/** A POST that a system of others got. */
export interface Received {
  readonly path: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  json(): Readonly<Record<string, unknown>>;
}

/** A system of others that Tessera speaks to, on the loopback interface. */
export interface Receiver {
  readonly url: string;
  /** To be emptied by a test that counts. */
  readonly received: Received[];
  /** What it answers next, one status after the other; 204 from then on. Redirects lead to itself. */
  answer(...statuses: number[]): void;
  /** The first request that satisfies `wanted`, once it has come. */
  got(what: string, wanted: (one: Received) => boolean, timeoutMs?: number): Promise<Received>;
  /** All that has come, once that is `count` requests. */
  gotAll(count: number): Promise<readonly Received[]>;
  close(): Promise<void>;
}

const patienceMs = 10_000;

export async function startReceiver(path = '/told'): Promise<Receiver> {
  const received: Received[] = [];
  const statuses: number[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const headers = request.headers as Record<string, string>;
      const json = () => JSON.parse(body) as Record<string, unknown>;
      received.push({ path: request.url, headers, body, json });
      response.writeHead(statuses.shift() ?? 204, { location: '/elsewhere' }).end();
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${path}`,
    received,
    answer: (...next) => void statuses.push(...next),
    async got(what, wanted, timeoutMs = patienceMs) {
      await eventually(what, () => received.some(wanted), timeoutMs);
      const found = received.find(wanted);
      if (found === undefined) throw new Error(what);
      return found;
    },
    async gotAll(count) {
      await eventually(`${count} requests have come`, () => received.length >= count, patienceMs);
      return received;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
