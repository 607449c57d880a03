import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, type Store } from '../held-process.ts';
import { initialise, inNewDirectory, own, run } from './start-postgres.ts';

/** A primary and a hot standby that follows it. The caller stops them. */
export interface ReplicatedPostgres {
  readonly primary: Store;
  /** Becomes the primary by `SELECT pg_promote()`. */
  readonly standby: Store;
  /** With a database and both hosts, in the order that is given. */
  url(database: string, ...order: readonly Store[]): string;
  stop(): Promise<void>;
}

export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  return inNewDirectory(async (directory) => {
    // No fewer senders than initdb noted, or the standby does not begin.
    const settings = { wal_level: 'replica', max_wal_senders: '10', hot_standby: 'on' };
    const primary = await initialise(directory, settings);
    // Copied before it ever ran, so that the standby begins where it begins.
    const data = join(directory, 'standby');
    await cp(join(directory, 'data'), data, { recursive: true });
    await writeFile(join(data, 'standby.signal'), '');
    await own(data, primary.user);
    const port = await freePort();
    const { hostname, port: primaryPort, password } = new URL(primary.url);
    const source = `host=${hostname} port=${primaryPort} user=tessera password=${password}`;
    const standbyUrl = new URL(primary.url);
    standbyUrl.port = String(port);
    const args = primary.args.map((arg) =>
      arg === join(directory, 'data') ? data : arg === primaryPort ? String(port) : arg,
    );
    const standby = {
      ...primary,
      url: standbyUrl.href,
      args: [...args, '-c', `primary_conninfo=${source}`],
    };
    const servers = [await run(primary), await run(standby)];
    const [first, second] = servers.map((server, index) => ({
      url: [primary, standby][index]?.url ?? '',
      origin: 'embedded-postgres',
      stop: () => server.stop(),
    })) as [Store, Store];
    return {
      primary: first,
      standby: second,
      url(database, ...order) {
        const hosts = order.map((store) => new URL(store.url).host).join(',');
        return `postgres://tessera:${password}@${hosts}/${database}`;
      },
      async stop() {
        await Promise.all(servers.map((server) => server.stop()));
        await rm(directory, { recursive: true, force: true });
      },
    };
  });
}
