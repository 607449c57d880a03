import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { announceAdministration } from '@tessera/admin';
import { Secret, systemRandom } from '@tessera/kit';
import { createProver, serveConnect, type BuiltService } from '@tessera/rpc';
import { atEndOfFile, silentLog } from '@tessera/test-kit';
import { printed, type Printed } from './run-command.ts';

/**
 * Serves an administration as a process with embedded stores does, until the test file ends. Runs commands beside it.
 */
export async function administrationAtHand(
  routes: BuiltService['routes'],
): Promise<(words: string) => Promise<Printed>> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-at-hand-'));
  atEndOfFile(() => rm(folder, { recursive: true }));
  const token = new Secret('a-token-that-is-in-the-file-alone');
  const prover = createProver(token, systemRandom);
  const credentials = { kind: 'token', token, of: 'operator', prover } as const;
  const administration = {
    name: 'admin',
    routes,
    ready: async () => undefined,
    close: async () => undefined,
  };
  const server = await serveConnect(administration, {
    host: '127.0.0.1',
    port: 0,
    credentials,
    log: silentLog(),
  });
  atEndOfFile(() => server.drain());
  const target = `127.0.0.1:${server.port}`;
  await announceAdministration(folder, { target, token, issuer: 'http://localhost:8080' });
  return async (words) => printed(words, { TESSERA_DATA_DIR: folder, XDG_CONFIG_HOME: folder }, fetch);
}
