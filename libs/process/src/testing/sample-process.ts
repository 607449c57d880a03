/** A small process for the tests of the life cycle; what it does is chosen by `SAMPLE`. */
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { combine } from '../config/load-config.ts';
import { failpoints } from '../failpoints.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { Logger } from '@tessera/telemetry';
import { processConfig } from '../config/settings-of-every-process.ts';
import { runProcess } from '../run-process.ts';
import { secret } from '../config/setting-types.ts';
import { isTracing, tracedRoot } from '@tessera/telemetry';

const sampleConfig = z.object({ SAMPLE: z.string(), TESSERA_KEYS_KEK: secret(32).optional() });

const close = (server: Server) => new Promise<void>((resolve) => void server.close(() => resolve()));

async function listen(lifecycle: Lifecycle, log: Logger): Promise<number> {
  const serve = async (response: ServerResponse): Promise<void> => {
    await sleep(500);
    response.end('done');
    if (isTracing()) log.info('served');
  };
  const server = createServer((_request, response) => {
    const span = { name: 'GET /', kind: 'server' } as const;
    void tracedRoot(span, undefined, () => serve(response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  lifecycle.onDrain(() => close(server));
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

await runProcess({
  name: 'sample',
  config: combine(processConfig, sampleConfig),
  environment: process.env,
  logFormat: process.env['SAMPLE_LOG'] === 'text' ? 'text' : undefined,
  async start({ config, log, lifecycle }) {
    const failpoint = failpoints(config);
    lifecycle.onClose(async () => log.info('flushed'));
    if (config.SAMPLE === 'crash') throw new Error('the thing is broken');
    if (config.SAMPLE === 'forbidden') {
      const refused = { severity: 'ERROR', code: '42501' };
      throw Object.assign(new Error('permission denied for database tessera'), refused);
    }
    if (config.SAMPLE === 'print') globalThis.console.warn('[WARN] a library prints');
    if (config.SAMPLE === 'hang') log.info('hanging');
    if (config.SAMPLE === 'hang') await new Promise(() => setInterval(() => undefined, 1000));
    const port = await listen(lifecycle, log);
    if (config.SAMPLE === 'late')
      setTimeout(() => void Promise.reject(new Error('nobody waits for this')), 50);
    failpoint('listening');
    log.info({ port }, 'listening');
  },
});
