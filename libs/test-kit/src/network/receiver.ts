import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '../eventually.ts';

/** A POST that an external system received. */
export interface Received {
  readonly path: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  json(): Readonly<Record<string, unknown>>;
}

/** An external system that Tessera calls, on the loopback interface. */
export interface Receiver {
  readonly url: string;
  /** A test that counts requests empties this first. */
  readonly received: Received[];
  /** Statuses of the next responses, in order; 204 afterwards. Redirects point back to the receiver. */
  answer(...statuses: number[]): void;
  /** Resolves with the first request that satisfies `wanted`. */
  got(what: string, wanted: (one: Received) => boolean, timeoutMs?: number): Promise<Received>;
  /** Resolves with all requests once there are `count`. */
  gotAll(count: number): Promise<readonly Received[]>;
  close(): Promise<void>;
}

const patienceMs = 10_000;

export async function startReceiver(path = '/notify'): Promise<Receiver> {
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
