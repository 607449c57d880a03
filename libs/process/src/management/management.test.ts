import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createLifecycle } from '../lifecycle.ts';
import { createLogger } from '@tessera/telemetry';
import { startManagement } from './management.ts';
import type { Management, ManagementOptions } from './management.ts';

const log = createLogger({ service: 'test', level: 'silent' });
const open: Management[] = [];
afterEach(async () => {
  for (const management of open.splice(0)) await management.close();
});

async function start(metrics?: ManagementOptions['metrics']) {
  const lifecycle = createLifecycle({ log, pauseMs: 0, drainTimeoutMs: 100 });
  const management = await startManagement({
    host: '127.0.0.1',
    port: 0,
    lifecycle,
    ...(metrics === undefined ? {} : { metrics }),
  });
  open.push(management);
  const base = `http://127.0.0.1:${management.port}`;
  return { lifecycle, management, get: (path: string, init?: RequestInit) => fetch(base + path, init) };
}

describe('the management listener', () => {
  it('reports the process as live in every state', async () => {
    const { lifecycle, get } = await start();
    lifecycle.check('database', () => Promise.reject(new Error('unavailable')));
    expect((await get('/livez')).status).toBe(200);
    await lifecycle.stop();
    expect((await get('/livez?x=1')).status).toBe(200);
  });

  it('answers readiness with each check, and 503 while starting and draining', async () => {
    const { lifecycle, get } = await start();
    lifecycle.check('database', async () => undefined);
    const before = await get('/readyz');
    expect(before.status).toBe(503);
    expect(before.headers.get('cache-control')).toBe('no-store');
    lifecycle.started();
    const running = await get('/readyz');
    expect(running.status).toBe(200);
    expect(running.headers.get('content-type')).toBe('application/json');
    expect(await running.json()).toEqual({ ready: true, state: 'running', checks: { database: 'ok' } });
    await lifecycle.stop();
    expect((await get('/readyz')).status).toBe(503);
  });

  it('serves metrics where there are any, and survives their failure', async () => {
    const { get } = await start();
    expect((await get('/metrics')).status).toBe(404);
    const given = await start(async () => ({ contentType: 'text/plain; version=0.0.4', text: 'up 1\n' }));
    const response = await given.get('/metrics');
    expect([response.headers.get('content-type'), await response.text()]).toEqual([
      'text/plain; version=0.0.4',
      'up 1\n',
    ]);
    const failing = await start(() => Promise.reject(new Error('secret cause')));
    const failed = await failing.get('/metrics');
    expect([failed.status, await failed.text()]).toEqual([500, 'internal error\n']);
  });

  it('refuses other paths and methods', async () => {
    const { get } = await start();
    expect((await get('/')).status).toBe(404);
    expect((await get('/livez', { method: 'HEAD' })).status).toBe(200);
    const posted = await get('/livez', { method: 'POST', body: 'x'.repeat(100_000) });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('closes although a client keeps its connection open', async () => {
    const { management } = await start();
    const socket = connect(management.port, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.on('error', () => undefined);
    open.length = 0;
    await management.close();
    socket.destroy();
  });

  it('fails to start on a port in use', async () => {
    const { management, lifecycle } = await start();
    const again = startManagement({ host: '127.0.0.1', port: management.port, lifecycle });
    await expect(again).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});
