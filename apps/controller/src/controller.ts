import { limitRepeats, type Logger } from '@tessera/telemetry';
import type { Cluster } from './cluster/cluster.ts';
import { keyOf, kinds, type Key, type Kind, type TesseraObject } from './objects.ts';
import { reconcile, type ReconcileDeps } from './reconcile/reconcile.ts';
import { WorkQueue } from './work-queue.ts';

export interface Controller {
  /** Rejects until the objects of every kind were listed once. */
  ready(): Promise<void>;
  /** Follows no more, and resolves when what is under way has ended. */
  stop(): Promise<void>;
}

export interface ControllerOptions extends Omit<ReconcileDeps, 'changed' | 'warnings'> {
  readonly cluster: Cluster;
  readonly log: Logger;
  /** How often every record is compared with its object. */
  readonly resyncMs: number;
}

/** Each compares a tenant a few times: more at once would be no sooner. */
const concurrency = 4;

const delays = { firstDelayMs: 1_000, longestDelayMs: 300_000 };

/** Follows the objects of the cluster, and keeps the record of each what it declares. */
export function startController({ resyncMs, ...options }: ControllerOptions): Controller {
  const { cluster, log } = options;
  const warnings = limitRepeats(log);
  const listed = new Set<Kind>();
  const seen = new Map<string, string>();
  const queue = new WorkQueue({
    ...delays,
    concurrency,
    async work(text) {
      const key = JSON.parse(text) as Key;
      try {
        const result = await reconcile({ ...options, warnings, changed: () => queue.retry() }, key);
        return result === 'done' ? 'done' : 'failed';
      } catch (error) {
        warnings.warn(
          'object',
          { err: error, namespace: key.namespace },
          'an object cannot be read or patched',
        );
        return 'failed';
      }
    },
  });
  const add = (object: TesseraObject) => queue.add(JSON.stringify(keyOf(object)));
  const follow = (kind: Kind) =>
    cluster.follow(kind, {
      changed(object) {
        const text = JSON.stringify(keyOf(object));
        const version = versionOf(object);
        if (seen.get(text) === version) return;
        seen.set(text, version);
        add(object);
      },
      gone: (object) => void seen.delete(JSON.stringify(keyOf(object))),
      listed: () => void listed.add(kind),
      failed: (error) => warnings.warn(kind, { err: error }, 'objects cannot be followed'),
    });
  const followed = kinds.map(follow);
  const resync = async () => {
    for (const kind of kinds) for (const object of await cluster.list(kind)) add(object);
  };
  const timer = setInterval(
    () => void resync().catch((err: unknown) => warnings.warn('list', { err }, 'objects cannot be listed')),
    resyncMs,
  );
  return {
    async ready() {
      if (listed.size < kinds.length) throw new Error('the objects are not known yet');
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(followed.map(async (one) => one.stop()));
      await queue.stop();
    },
  };
}

/** What of an object calls for work: what it declares, not what its status says. */
function versionOf({ metadata }: TesseraObject): string {
  const { uid, generation, deletionTimestamp, annotations } = metadata;
  return JSON.stringify([uid, generation, deletionTimestamp, annotations]);
}
