import { serve } from '@tessera/rpc';
import { KeysService } from '@tessera/proto-gen/keys';
import { silentLog } from '@tessera/test-kit';
import { freePort } from '@tessera/test-kit/provision';
import { expect, onTestFinished, test } from 'vitest';
import { rpcConfig } from './config/rpc-settings.ts';
import { createLifecycle } from './lifecycle.ts';
import { connectPeers } from './run-service.ts';

const log = silentLog();
const built = { name: 'keys', routes: [], ready: async () => {}, close: async () => {} } as const;

test('a process is ready once each peer that it calls has answered, and stays so when one is gone', async () => {
  const port = await freePort();
  const config = rpcConfig.parse({
    TESSERA_RPC_AUTH: 'none',
    TESSERA_PEERS: `keys=127.0.0.1:${port} device=127.0.0.1:1`,
  });
  const lifecycle = createLifecycle({ log, pauseMs: 0, drainTimeoutMs: 500 });
  onTestFinished(() => lifecycle.stop());
  const peers = await connectPeers(config, 'token', log, lifecycle);
  peers('keys').client(KeysService);
  lifecycle.started();
  expect(await lifecycle.readiness()).toEqual({
    ready: false,
    state: 'running',
    checks: { keys: 'temporarily_unavailable' },
  });
  const options = { host: '127.0.0.1', port, credentials: { kind: 'none' } as const, log };
  const server = await serve(built, options);
  const ready = { ready: true, checks: { keys: 'ok' } };
  await expect.poll(() => lifecycle.readiness()).toMatchObject(ready);
  await server.drain();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await lifecycle.readiness()).toMatchObject(ready);
});
