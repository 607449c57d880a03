/** A small process for the tests of the life cycle; what it does is chosen by `SAMPLE`. */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { z } from 'zod';
import { combine } from '../config.ts';
import { failpoints } from '../failpoints.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { processConfig } from '../process-config.ts';
import { runProcess } from '../run-process.ts';
import { secret } from '../setting-types.ts';

const sampleConfig = z.object({ SAMPLE: z.string(), TESSERA_KEYS_KEK: secret(32).optional() });

const close = (server: Server) => new Promise<void>((resolve) => void server.close(() => resolve()));

async function listen(lifecycle: Lifecycle): Promise<number> {
  const server = createServer((_request, response) => {
    setTimeout(() => response.end('done'), 500);
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
  async start({ config, log, lifecycle }) {
    const failpoint = failpoints(config);
    lifecycle.onClose(async () => log.info('flushed'));
    if (config.SAMPLE === 'crash') throw new Error('the thing is broken');
    if (config.SAMPLE === 'hang') log.info('hanging');
    if (config.SAMPLE === 'hang') await new Promise(() => setInterval(() => undefined, 1000));
    const port = await listen(lifecycle);
    if (config.SAMPLE === 'late')
      setTimeout(() => void Promise.reject(new Error('nobody waits for this')), 50);
    failpoint('listening');
    log.info({ port }, 'listening');
  },
});
