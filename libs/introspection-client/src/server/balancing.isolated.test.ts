import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { route, serve, type RpcServer } from '@tessera/rpc';
import { IntrospectionService } from '@tessera/proto-gen/token';
import { createCertificates, silentLog, type CertificateFiles } from '@tessera/test-kit';
import { fakeToken } from '../testing/fake-server.ts';
import { nameServer } from '../testing/name-server.ts';
import { createIntrospector } from '../introspector.ts';

// grpc-js asks a name server of its own choice only with its other resolver, and reads this once.
vi.hoisted(() => {
  process.env['GRPC_NODE_USE_ALTERNATIVE_RESOLVER'] = 'true';
});

const connectionAgeMs = 1_000;
let directory: string;
let files: CertificateFiles;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'balancing-'));
  files = await createCertificates(directory, ['token', 'introspector']);
});
afterAll(() => rm(directory, { recursive: true }));

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** A replica with real certificates at an address of its own, which counts its calls. */
async function replica(host: string, port: number) {
  const counted = { calls: 0 };
  const never = async function* () {
    yield* [];
  };
  const answer = () => {
    counted.calls += 1;
    return { active: true, ...fakeToken() };
  };
  const introspection = route(IntrospectionService, {
    introspect: answer,
    batchIntrospect: () => ({}),
    watchRevocations: never,
  });
  const { cert = '', key = '' } = files.certificates['token'] ?? {};
  const server: RpcServer = await serve(
    { name: 'token', routes: [introspection], ready: async () => {}, close: async () => {} },
    {
      host,
      port,
      credentials: { kind: 'mtls', certificateFile: cert, privateKeyFile: key, caFile: files.ca },
      log: silentLog(),
      drainMs: 500,
      connectionAgeMs,
    },
  );
  cleanUps.push(() => server.drain());
  return { counted, server };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.2');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('the replicas behind a DNS name', () => {
  it('share the calls; a new one gets some within the connection age, and a draining one fails none', async () => {
    const port = await freePort();
    const addresses = ['127.0.0.2', '127.0.0.3'];
    const names = await nameServer(() => addresses);
    cleanUps.push(() => names.close());
    const [first, second] = [await replica('127.0.0.2', port), await replica('127.0.0.3', port)];
    const { cert = '', key = '' } = files.certificates['introspector'] ?? {};
    const introspector = createIntrospector({
      target: `dns://127.0.0.1:${names.port}/token.example.test:${port}`,
      credentials: {
        tls: { caFile: files.ca, certificateFile: cert, privateKeyFile: key, serverName: 'token' },
      },
      cache: false,
      watch: false,
    });
    cleanUps.push(() => introspector.close());
    const failures: unknown[] = [];
    let loading = true;
    const load = async () => {
      for (let index = 0; loading && failures.length === 0; index += 1) {
        await introspector.introspect(`token-${index}`).catch((error: unknown) => failures.push(error));
      }
    };
    const running = load();
    try {
      await expect.poll(() => Math.min(first.counted.calls, second.counted.calls)).toBeGreaterThan(50);
      const third = await replica('127.0.0.4', port);
      addresses.push('127.0.0.4');
      const added = performance.now();
      await expect.poll(() => third.counted.calls).toBeGreaterThan(20);
      expect(performance.now() - added).toBeLessThan(10 * connectionAgeMs);
      addresses.shift();
      await first.server.drain();
      const goal = second.counted.calls + 200;
      await expect.poll(() => second.counted.calls).toBeGreaterThan(goal);
    } finally {
      loading = false;
      await running;
    }
    expect(failures).toEqual([]);
  });
});
