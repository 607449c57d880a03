import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { CallOptions } from '@tessera/rpc';
import { testRuntime } from '@tessera/test-kit';
import type { GatewayPeers } from '../gateway.ts';
import { openGateway, type TestGateway } from '../testing/fake-services.ts';
import { boundedPeers } from './bounded-calls.ts';

const opened: TestGateway[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((gateway) => gateway.close()));
});

describe('the calls of a request', () => {
  it('all have a deadline, which a call may set itself', () => {
    const given: (CallOptions | undefined)[] = [];
    const method = (_request: unknown, options?: CallOptions) => void given.push(options);
    const client = { one: method, two: method };
    const { keys, token } = boundedPeers({ keys: client, token: client } as unknown as GatewayPeers, 1.5);
    for (const bounded of [keys, token] as unknown as (typeof client)[]) {
      bounded.one({});
      bounded.two({}, { timeoutMs: 15_000, headers: { a: 'b' } });
    }
    const [without, own] = [{ timeoutMs: 3_000 }, { timeoutMs: 15_000, headers: { a: 'b' } }];
    expect(given).toEqual([without, own, without, own]);
  });

  it.each([
    [0.25, 2_000],
    [1, 2_000],
    [6, 12_000],
    [60, 25_000],
  ])('have for statements of %d s a deadline of %d ms', (statementSeconds, timeoutMs) => {
    const given: (CallOptions | undefined)[] = [];
    const client = { one: (_request: unknown, options?: CallOptions) => void given.push(options) };
    const bounded = boundedPeers({ token: client } as unknown as GatewayPeers, statementSeconds);
    (bounded.token as unknown as typeof client).one({});
    expect(given).toEqual([{ timeoutMs }]);
  });

  it('are cancelled when the client leaves', async () => {
    const body = 'token=t&client_id=c&client_secret=s';
    const called = Promise.withResolvers<AbortSignal>();
    const gateway = openGateway(testRuntime(), {
      revoke: async (_request, { signal }) => {
        called.resolve(signal);
        await once(signal, 'abort');
        return {};
      },
    });
    opened.push(gateway);
    const { port } = new URL(await gateway.listen({ host: '127.0.0.1', port: 0 }));
    const socket = connect(Number(port), '127.0.0.1');
    const type = 'application/x-www-form-urlencoded';
    const head = `POST /revoke HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(head);
    // The body comes by itself, in the context of the connection.
    setTimeout(() => socket.write(body), 20);
    const signal = await called.promise;
    expect(signal.aborted).toBe(false);
    const began = performance.now();
    socket.destroy();
    if (!signal.aborted) await once(signal, 'abort');
    // Not by its deadline.
    expect(performance.now() - began).toBeLessThan(1_500);
  });

  it('of another request of the same connection go on', async () => {
    const signals: AbortSignal[] = [];
    const gateway = openGateway(testRuntime(), {
      revoke: (_request, { signal }) => {
        signals.push(signal);
        return {};
      },
    });
    opened.push(gateway);
    const url = await gateway.listen({ host: '127.0.0.1', port: 0 });
    const revoke = async () =>
      fetch(`${url}/revoke`, { method: 'POST', body: new URLSearchParams({ token: 't', client_id: 'c' }) });
    expect([(await revoke()).status, (await revoke()).status]).toEqual([200, 200]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
  });
});
