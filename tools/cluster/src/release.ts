import { join } from 'node:path';
import { createAuthority, type Authority } from '@tessera/test-kit/certificates';
import { host, tenantsWith } from './declared-state.ts';
import { until, type LiveObject, type Namespace } from './kubernetes.ts';
import { secret } from './stores.ts';

export type Topology = 'compact' | 'split';
export type Values = Readonly<Record<string, unknown>>;

/** The release under test. */
export interface Release {
  readonly on: Namespace;
  readonly topology: Topology;
  /** The Deployments without the release's name, as `gateway` or `standalone`. */
  readonly components: readonly string[];
  /** The component with the Service for HTTP. */
  readonly front: string;
  install(): Promise<void>;
  /**
   * `helm upgrade` with these values above the first ones; resolves when no earlier pod is left. `roll` replaces all
   * pods.
   */
  upgrade(values: Values, how?: { readonly roll: boolean }): Promise<void>;
  /**
   * `helm upgrade` with a declared state that its Job refuses; resolves with what that Job printed. Throws if the Job
   * was tried again.
   */
  refusedState(values: Values): Promise<string>;
  /** The number of the present revision; throws if Helm calls it anything but deployed. */
  revision(): Promise<number>;
  /**
   * `helm rollback` to a revision; resolves as `upgrade` does. `force` lets Helm overwrite what others wrote, as of
   * Helm 4.
   */
  rollback(revision: number, how?: { readonly force: boolean }): Promise<void>;
  /** How many replicas the Deployment of a component is to have. */
  replicas(component: string): Promise<number | undefined>;
  uninstall(): Promise<void>;
  /** Resolves when every Deployment is rolled out, every Job done and no pod is on its way out. */
  settled(): Promise<void>;
  /** The running pods of a component, or of all of them. */
  pods(component?: string): Promise<string[]>;
  /** Runs JavaScript in a pod; resolves with what it prints. */
  node(pod: string, script: string): Promise<string>;
}

const chart = join(import.meta.dirname, '../../../deploy/helm/tessera');
const instance = 'app.kubernetes.io/instance=tessera';
const splitComponents = ['gateway', 'authorize', 'token', 'device', 'keys', 'directory'];
/** Processes with a certificate; the operator is the Job that applies the declared state. */
const certified = [...splitComponents, 'admin', 'operator'];

export interface ReleaseOptions {
  readonly topology: Topology;
  readonly image: string;
  /** Another version, which is installed first; the rolling upgrade leads from it to `image`. */
  readonly imageBefore: string | undefined;
  /** A file with values that this cluster needs. */
  readonly valuesFile: string | undefined;
  /** Above those of every installation; default: none. */
  readonly values?: Values;
}

/** The values of every installation; a test renders the chart with them. */
export function valuesOf(namespace: string, topology: Topology, image: string): Values {
  const fromSecrets = { existingSecret: 'secrets' };
  const existingSecrets = Object.fromEntries(certified.map((name) => [name, `${name}-tls`]));
  return {
    issuer: `https://${host}`,
    topology,
    image: imageValues(image),
    database: { existingSecret: 'database' },
    redis: { existingSecret: 'redis' },
    secrets: { keysKek: fromSecrets, directoryPepper: fromSecrets, tokenRefreshKeys: fromSecrets },
    rpc: { mtls: { trustDomain: `tessera.${namespace}.svc.cluster.local`, existingSecrets } },
    state: { tenants: tenantsWith(['worker-secret']), secrets: ['clients'] },
    tests: { clientSecret: 'smoke' },
    // Twelve processes, and one more of each during an upgrade, fit on one small node.
    defaults: { resources: { requests: { cpu: '50m', memory: '128Mi' } } },
  };
}

/** `repository[:tag][@digest]` as the chart has it; a colon before a slash belongs to a port. */
export function imageValues(image: string): Values {
  const [name = '', digest = ''] = image.split('@');
  const colon = name.lastIndexOf(':');
  const hasTag = colon > name.lastIndexOf('/');
  return {
    repository: hasTag ? name.slice(0, colon) : name,
    tag: hasTag ? name.slice(colon + 1) : '',
    digest,
  };
}

/** What this cluster needs wins. */
const valueArguments = (file: string | undefined) => [
  '--values',
  '-',
  ...(file === undefined ? [] : ['--values', file]),
];

/** The later value wins; objects are merged. */
function merged(base: Values, over: Values): Values {
  const isObject = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const both = Object.entries(over).map(([key, value]) => {
    const below = base[key];
    return [key, isObject(below) && isObject(value) ? merged(below, value) : value] as const;
  });
  return { ...base, ...Object.fromEntries(both) };
}

export function createRelease(on: Namespace, options: ReleaseOptions): Release {
  const { topology, image, imageBefore, valuesFile } = options;
  const components = topology === 'compact' ? ['standalone'] : splitComponents;
  const helm = (verb: readonly string[], values: Values) =>
    on.helm([...verb, 'tessera', chart, ...valueArguments(valuesFile)], JSON.stringify(values));

  const isOfDeployment = ({ metadata }: LiveObject) =>
    metadata.ownerReferences?.some(({ kind }) => kind === 'ReplicaSet') === true;

  let generation = 0;
  const valuesNow = (current: string): Values =>
    merged(merged(valuesOf(on.name, topology, current), options.values ?? {}), {
      defaults: { podAnnotations: { generation: String(generation) } },
    });

  async function isSettled(): Promise<true | undefined> {
    const deployments = await on.list('deployments', instance);
    const jobs = await on.list('jobs', instance);
    const pods = (await on.list('pods', instance)).filter(isOfDeployment);
    const wanted = deployments.reduce((sum, { spec }) => sum + (spec?.replicas ?? 1), 0);
    const rolledOut = deployments.every(({ spec, status }) =>
      [status?.updatedReplicas, status?.readyReplicas, status?.replicas].every(
        (number) => (number ?? 0) === (spec?.replicas ?? 1),
      ),
    );
    const done = jobs.every(({ status }) => (status?.succeeded ?? 0) > 0);
    return rolledOut && done && pods.length === wanted ? true : undefined;
  }

  async function settled(): Promise<void> {
    await until('the release has not settled', isSettled);
  }

  async function rolledOut(): Promise<void> {
    // The controllers may not have seen the new generation yet.
    await on.kubectl(['rollout', 'status', 'deployment', '--selector', instance, '--timeout=10m']);
    await settled();
  }

  return {
    on,
    topology,
    components,
    front: `tessera-${components[0]}`,
    settled,
    async install() {
      // Installed again, it stays at the image that it was upgraded to.
      await helm(['install'], valuesNow(generation === 0 ? (imageBefore ?? image) : image));
      await settled();
    },
    async upgrade(values, { roll } = { roll: false }) {
      if (roll) generation += 1;
      await helm(['upgrade'], merged(valuesNow(image), values));
      await rolledOut();
    },
    async refusedState(values) {
      await helm(['upgrade'], merged(valuesNow(image), values));
      return refusalOf(on);
    },
    async revision() {
      const text = await on.helm(['history', 'tessera', '--max=1', '--output=json']);
      const [last] = JSON.parse(text) as { readonly revision: number; readonly status: string }[];
      if (last?.status !== 'deployed') throw new Error(`the release is ${last?.status}`);
      return last.revision;
    },
    async rollback(revision, { force } = { force: false }) {
      const version = await on.helm(['version', '--template={{ .Version }}']);
      const flags = force && !version.startsWith('v3.') ? ['--force-conflicts'] : [];
      await on.helm(['rollback', 'tessera', String(revision), ...flags]);
      await rolledOut();
    },
    async replicas(component) {
      const [found] = await on.list('deployments', `${instance},app.kubernetes.io/component=${component}`);
      return found?.spec?.replicas;
    },
    async uninstall() {
      await on.helm(['uninstall', 'tessera', '--wait', '--timeout=10m']);
      // Helm leaves the pod of `helm test`, as it does with hooks.
      await on.kubectl(['delete', 'pod', '--selector', `${instance},app.kubernetes.io/component=test`]);
      await until('pods of the uninstalled release are left', async () =>
        (await on.list('pods', instance)).length === 0 ? true : undefined,
      );
    },
    async pods(component) {
      const selector =
        component === undefined ? instance : `${instance},app.kubernetes.io/component=${component}`;
      const found = await on.list('pods', selector);
      return found
        .filter((pod) => isOfDeployment(pod) && pod.metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.name);
    },
    node: (pod, script) => on.kubectl(['exec', pod, '--', 'node', '--eval', script]),
  };
}

/** What the Job that applies the declared state printed when it failed, at its only attempt. */
async function refusalOf(on: Namespace): Promise<string> {
  const { metadata, status } = await until('no Job has failed', async () => {
    const jobs = await on.list('jobs', `${instance},app.kubernetes.io/component=apply`);
    return jobs.find((job) => (job.status?.failed ?? 0) > 0);
  });
  if (status?.failed !== 1) throw new Error(`the Job ${metadata.name} was tried ${status?.failed} times`);
  return on.kubectl(['logs', `job/${metadata.name}`]);
}

/** Kinds that a release makes; nothing of them may be left after it. */
export const kindsOfRelease =
  'deployments,pods,services,configmaps,secrets,jobs,serviceaccounts,poddisruptionbudgets,horizontalpodautoscalers,networkpolicies';
export const ofRelease = instance;

export const openAuthority = (): Promise<Authority> => createAuthority();

/** The certificates of every process of split, by an authority for this namespace alone. */
export async function certificatesOf(
  on: Namespace,
  authority: Authority,
  notAfter?: number,
): Promise<object[]> {
  return Promise.all(
    certified.map(async (name) => {
      const issued = await authority.issue(`${name}.tessera.${on.name}.svc.cluster.local`, {
        // Administration is called by this name: in compact it has the certificate of `token`.
        alsoNamed: [`tessera-administration.${on.name}.svc`],
        ...(notAfter !== undefined && { notAfter }),
      });
      return secret(`${name}-tls`, {
        'tls.crt': issued.cert,
        'tls.key': issued.key,
        'ca.crt': authority.cert,
      });
    }),
  );
}
