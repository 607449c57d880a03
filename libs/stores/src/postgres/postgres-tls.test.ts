import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from '@tessera/test-kit';
import { startPostgres } from '@tessera/test-kit/provision';
import type { Store } from '@tessera/test-kit/provision';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from './postgres.ts';

const directory = mkdtempSync(join(tmpdir(), 'tessera-postgres-tls-'));
const files = { ours: join(directory, 'ours.pem'), stranger: join(directory, 'stranger.pem') };
let server: Store;

beforeAll(async () => {
  const ours = await createAuthority();
  writeFileSync(files.ours, ours.cert);
  writeFileSync(files.stranger, (await createAuthority()).cert);
  // 127.0.0.2 is an address that the certificate does not hold.
  server = await startPostgres({ listen_addresses: '127.0.0.1,127.0.0.2' }, await ours.issue('postgres'));
});
afterAll(async () => {
  await server?.stop();
  rmSync(directory, { recursive: true });
});

/** Whether the session is encrypted, or what kept it from opening. */
async function encrypted(options: Record<string, string>, host = '127.0.0.1'): Promise<unknown> {
  const url = new URL(server.url);
  url.hostname = host;
  for (const [name, value] of Object.entries(options)) url.searchParams.set(name, value);
  const database = await openDatabase({ url: url.href });
  try {
    const text = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
    return (await database.query<{ ssl: boolean }>({ name: 'test.ssl', text })).rows[0]?.ssl;
  } catch (error) {
    expect(error).toMatchObject({ code: 'temporarily_unavailable' });
    return (error as Error).cause instanceof Error ? ((error as Error).cause as Error).message : undefined;
  } finally {
    await database.close();
  }
}

describe('Postgres over TLS', () => {
  it.each(['verify-full', 'verify-ca', 'require', 'prefer'])(
    'is used with sslmode=%s when its authority is named',
    async (sslmode) => {
      expect(await encrypted({ sslmode, sslrootcert: files.ours })).toBe(true);
      expect(await encrypted({ sslmode, sslrootcert: files.ours }, 'localhost')).toBe(true);
    },
  );

  it.each(['verify-full', 'verify-ca', 'require', 'prefer'])(
    'is refused with sslmode=%s and a sentence when another authority signed its certificate, or is named nowhere',
    async (sslmode) => {
      const sentence =
        "The server's certificate is not signed by a trusted authority. Name it with sslrootcert in DATABASE_URL.";
      expect(await encrypted({ sslmode, sslrootcert: files.stranger })).toBe(sentence);
      expect(await encrypted({ sslmode })).toBe(sentence);
    },
  );

  it('is refused when its certificate is not for the address by which it is reached', async () => {
    expect(await encrypted({ sslmode: 'verify-full', sslrootcert: files.ours }, '127.0.0.2')).toBe(
      "The server's certificate is not for the name or address by which it is reached.",
    );
  });

  it('is used without verification or encryption if configured', async () => {
    expect(await encrypted({ sslmode: 'no-verify' })).toBe(true);
    expect(await encrypted({ sslmode: 'disable' })).toBe(false);
    expect(await encrypted({})).toBe(false);
  });

  it('does not open without the CA file', async () => {
    const url = `${server.url}?sslmode=verify-full&sslrootcert=${join(directory, 'absent.pem')}`;
    await expect(openDatabase({ url })).rejects.toThrow(
      /sslrootcert in DATABASE_URL names cannot be read \(ENOENT\)/,
    );
  });
});
