import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { eventually, freePort } from '@tessera/test-kit/provision';
import {
  CuttableProxy,
  introspect,
  peersOf,
  services,
  tokensOf,
  type Environment,
  type Service,
} from '@tessera/test-client';
import { clientCredentials, expectError } from '../../harness/flows.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

/** For an answer of 503 while the packets to a service are lost: the 2 s of a deadline, and room for one more. */
const limitMs = 5_000;
/** How often the time of answers that need no other service comes on top, as a busy machine makes all of them late. */
const room = 3;

describe.each([setUps.split, setUps['split-mtls']])('a service whose packets are lost, $name', (setUp) => {
  let system: System;
  let network: CuttableProxy;

  beforeAll(async () => {
    const ports = new Map<Service, number>();
    for (const name of services) ports.set(name, await freePort());
    network = new CuttableProxy('127.0.0.1', ports.get('token') ?? 0);
    await network.start();
    const only: Record<string, Environment> = {};
    const peers = peersOf((name) => `127.0.0.1:${ports.get(name)}`);
    for (const [name, port] of ports) only[name] = { TESSERA_RPC_PORT: String(port), ...peers };
    Object.assign(
      only['gateway'] ?? {},
      // A deadline is twice that.
      { TESSERA_DATABASE_STATEMENT_TIMEOUT: '1s' },
      peersOf((name) => `127.0.0.1:${name === 'token' ? network.port : ports.get(name)}`),
    );
    system = await startSystem(setUp, {
      stores: { databaseUrl: await newDatabaseUrl(), redisUrl: redisUrl() },
      only,
    });
  });
  afterAll(async () => {
    await system?.stop();
    await network?.stop();
  });

  it('is answered for with 503 at the deadline, and serves again by itself (F12)', async () => {
    const { http } = system;
    const { accessToken } = tokensOf(await clientCredentials(http));
    network.cut('silent');
    const tookMs: number[] = [];
    const besideMs: number[] = [];
    const timed = async <T>(into: number[], work: Promise<T>): Promise<T> => {
      const began = performance.now();
      const answer = await work;
      into.push(performance.now() - began);
      return answer;
    };
    try {
      const calls = Array.from({ length: 60 }, async (_, n) => {
        await sleep(n * 50);
        const call =
          n % 2 === 0
            ? clientCredentials(http)
            : http.ask('POST', '/introspect', { json: { token: accessToken } });
        const [answer, keys] = await Promise.all([
          timed(tookMs, call),
          timed(besideMs, http.ask('GET', '/.well-known/jwks.json')),
        ]);
        expect(keys.status).toBe(200);
        expectError(answer, 503, 'temporarily_unavailable');
        expect(Number(answer.header('retry-after'))).toBeGreaterThan(0);
      });
      await Promise.all(calls);
      expect(Math.max(...tookMs)).toBeLessThan(limitMs + room * Math.max(...besideMs));
    } finally {
      network.heal();
    }
    await eventually('tokens are issued', async () => (await clientCredentials(http)).status === 200, 20_000);
    expect(await introspect(http, accessToken)).toMatchObject({ active: true });
  });
});
