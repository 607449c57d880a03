import {
  ApiException,
  CoreV1Api,
  CustomObjectsApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  WellKnownApi,
  type KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
} from '@kubernetes/client-node';
import { within } from '@tessera/kit';
import { apiVersion, group, plurals, version, type Key, type Kind, type TesseraObject } from '../objects.ts';

/** What an event says of an object. */
export interface Told {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The API server of the cluster. Calls reject if it does not answer in time, or refuses. */
export interface Cluster {
  /** The object as it is now; undefined if there is none. */
  read(key: Key): Promise<TesseraObject | undefined>;
  list(kind: Kind): Promise<readonly TesseraObject[]>;
  /** Merges into the object, or into its status, if it is still of that version (RFC 7396). */
  patch(object: TesseraObject, part: 'metadata' | 'status', change: object): Promise<TesseraObject>;
  tell(object: TesseraObject, told: Told): Promise<void>;
  /** What the cluster calls its issuer. */
  issuer(): Promise<string>;
  /** Follows all objects of a kind until it is stopped. */
  follow(kind: Kind, on: Followed): { stop(): Promise<void> };
}

export interface Followed {
  /** It is new, or another than before; its status counts, too. */
  changed(object: TesseraObject): void;
  gone(object: TesseraObject): void;
  /** All that there are were told. */
  listed(): void;
  /** Nothing is heard for some seconds. */
  failed(error: unknown): void;
}

const timeoutMs = 10_000;
const restartMs = 2_000;
/** The issuer is asked for again after this time. */
const issuerAgeMs = 60_000;
/** What the API server takes of the message of an event. */
const longestEvent = 1_000;
const component = 'tessera-controller';

const inTime = <T>(call: Promise<T>): Promise<T> => within(timeoutMs, call);
const merging = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

export function openCluster(kubeConfig: KubeConfig): Cluster {
  const objects = kubeConfig.makeApiClient(CustomObjectsApi);
  const core = kubeConfig.makeApiClient(CoreV1Api);
  const wellKnown = kubeConfig.makeApiClient(WellKnownApi);
  const listed = async (kind: Kind) =>
    inTime(
      objects.listCustomObjectForAllNamespaces({ group, version, resourcePlural: plurals[kind] }),
    ) as Promise<KubernetesListObject<KubernetesObject>>;
  let known: { readonly issuer: string; readonly until: number } | undefined;
  return {
    list: async (kind) => (await listed(kind)).items.map((item) => asObject(kind, item)),

    async read({ kind, ...where }) {
      try {
        const at = { group, version, plural: plurals[kind], ...where };
        return asObject(kind, await inTime(objects.getNamespacedCustomObject(at)));
      } catch (error) {
        if (error instanceof ApiException && error.code === 404) return undefined;
        throw error;
      }
    },

    async patch({ kind, metadata: { namespace, name, resourceVersion } }, part, change) {
      const at = { group, version, plural: plurals[kind], namespace, name };
      const metadata = { resourceVersion, ...(part === 'metadata' && change) };
      const body = { metadata, ...(part === 'status' && { status: change }) };
      const patched: unknown = await inTime(
        part === 'status'
          ? objects.patchNamespacedCustomObjectStatus({ ...at, body }, merging)
          : objects.patchNamespacedCustomObject({ ...at, body }, merging),
      );
      return asObject(kind, patched);
    },

    async tell({ kind, metadata: { namespace, name, uid, resourceVersion } }, { type, reason, message }) {
      const now = new Date();
      const body = {
        metadata: { generateName: `${name}.`, namespace },
        involvedObject: { apiVersion, kind, namespace, name, uid, resourceVersion },
        type,
        reason,
        message: message.slice(0, longestEvent),
        source: { component },
        firstTimestamp: now,
        lastTimestamp: now,
        count: 1,
      };
      await inTime(core.createNamespacedEvent({ namespace, body }));
    },

    async issuer() {
      if (known !== undefined && performance.now() < known.until) return known.issuer;
      // Declared as text, and answered as JSON.
      const answer: unknown = await inTime(wellKnown.getServiceAccountIssuerOpenIDConfiguration());
      const metadata: unknown = typeof answer === 'string' ? JSON.parse(answer) : answer;
      const { issuer } = metadata as { readonly issuer?: unknown };
      if (typeof issuer !== 'string') throw new Error('the metadata of the cluster name no issuer');
      known = { issuer, until: performance.now() + issuerAgeMs };
      return issuer;
    },

    follow(kind, on) {
      const path = `/apis/${group}/${version}/${plurals[kind]}`;
      const informer = makeInformer(kubeConfig, path, async () => {
        const found = await listed(kind);
        on.listed();
        return found;
      });
      let timer: NodeJS.Timeout | undefined;
      let isStopped = false;
      const start = () => void informer.start().catch(restart);
      function restart(error: unknown): void {
        if (isStopped) return;
        on.failed(error);
        clearTimeout(timer);
        timer = setTimeout(start, restartMs);
      }
      informer.on('add', (object) => on.changed(asObject(kind, object)));
      informer.on('update', (object) => on.changed(asObject(kind, object)));
      informer.on('delete', (object) => on.gone(asObject(kind, object)));
      informer.on('error', restart);
      start();
      return {
        async stop() {
          isStopped = true;
          clearTimeout(timer);
          await informer.stop();
        },
      };
    },
  };
}

/** Objects in a list have no kind of their own. */
function asObject(kind: Kind, object: unknown): TesseraObject {
  return { ...(object as TesseraObject), kind };
}
