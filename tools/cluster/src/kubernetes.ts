import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** What a scenario reads of any object; which of it is there depends on the kind. */
export interface LiveObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly ownerReferences?: readonly { readonly kind: string }[];
  };
  readonly spec?: { readonly replicas?: number; readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly readyReplicas?: number;
    readonly succeeded?: number;
    readonly failed?: number;
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
  };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** A namespace of the cluster, by kubectl and Helm. Every call names it, so that nothing reaches another one. */
export interface Namespace {
  readonly name: string;
  /** How Helm is called. */
  readonly helmCommand: string;
  /** Another one, whose name is this one's and an ending. */
  beside(ending: string): Promise<Namespace>;
  /** Runs kubectl; resolves with what it prints, throws what it complains about. Input is never printed. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  helm(args: readonly string[], input?: string): Promise<string>;
  /** Starts kubectl and leaves it running; what it prints goes to the end of a file, or to a pipe without one. */
  start(args: readonly string[], file?: string): ChildProcess;
  apply(manifests: readonly object[]): Promise<void>;
  list(kinds: string, selector?: string): Promise<LiveObject[]>;
  /** Done at the end of the run, also of an interrupted one: for what is outside of the namespace. */
  atTheEnd(undo: () => Promise<unknown>): void;
  /** Does what was left for the end. */
  end(): Promise<void>;
  /** Removes it with all that it holds. */
  remove(): Promise<void>;
}

async function run(command: string, args: readonly string[], input = ''): Promise<string> {
  const child = spawn(command, args, { stdio: 'pipe' });
  let output = '';
  let complaint = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (output += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (complaint += part));
  // A command that ends early does not read its input.
  child.stdin.on('error', () => undefined).end(input);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once('error', reject);
  child.once('close', (code) => resolve(code ?? 1));
  if ((await promise) === 0) return output;
  throw new Error(`${command} ${args.slice(0, 6).join(' ')}: ${complaint.trim().slice(-1500)}`);
}

/** Creates a namespace that admits restricted pods only. */
export async function createNamespace(name: string, helm: string): Promise<Namespace> {
  const inNamespace = (args: readonly string[]) => ['--namespace', name, ...args];
  const kubectl = (args: readonly string[], input?: string) => run('kubectl', inNamespace(args), input);
  const apply = async (manifests: readonly object[]) => {
    await kubectl(
      ['apply', '--filename', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }),
    );
  };
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await run(
    'kubectl',
    ['create', '--filename', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }),
  );
  const undos: (() => Promise<unknown>)[] = [];
  return {
    name,
    helmCommand: helm,
    beside: (ending) => createNamespace(`${name}-${ending}`, helm),
    kubectl,
    apply,
    atTheEnd: (undo) => void undos.push(undo),
    async end() {
      for (const undo of undos.splice(0)) await undo();
    },
    helm: (args, input) => run(helm, inNamespace(args), input),
    start(args, file) {
      const output = file === undefined ? 'pipe' : openSync(file, 'a');
      const child = spawn('kubectl', inNamespace(args), { stdio: ['ignore', output, 'ignore'] });
      if (typeof output === 'number') closeSync(output);
      return child;
    },
    async list(kinds, selector) {
      const chosen = selector === undefined ? [] : ['--selector', selector];
      const text = await kubectl(['get', kinds, '--output', 'json', ...chosen]);
      return (JSON.parse(text) as { items: LiveObject[] }).items;
    },
    async remove() {
      await run('kubectl', ['delete', 'namespace', name, '--wait=true', '--timeout=10m']);
    },
  };
}

/** Of the cluster itself, which no scenario changes without being allowed to. */
export const cluster = (args: readonly string[]): Promise<string> => run('kubectl', args);

const patienceMs = 10 * 60_000;

/** Asks until the answer is not undefined; throws after ten minutes. */
export async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + patienceMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > end) throw new Error(`after ten minutes: ${what}`);
    await sleep(1000);
  }
}

/** A container as the Pod Security Standard `restricted` demands it. */
export const restricted = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

export const restrictedPod = (user: number) => ({
  runAsNonRoot: true,
  runAsUser: user,
  runAsGroup: user,
  fsGroup: user,
  seccompProfile: { type: 'RuntimeDefault' },
});

export interface PodToRun {
  /** Also the value of its label `role`. */
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  /** Folders in the pod, with the volumes that they hold. */
  readonly mounts?: Readonly<Record<string, object>>;
  /** The service account that it runs as; it gets no token of it but by a volume. */
  readonly serviceAccount?: string;
}

/** A pod with one container, which is started once. */
export function podOf({ name, image, command, mounts = {}, serviceAccount = 'default' }: PodToRun): object {
  const folders = Object.entries(mounts).map(([mountPath, volume], index) => ({
    mount: { name: `folder-${index}`, mountPath, readOnly: true },
    volume: { name: `folder-${index}`, ...volume },
  }));
  const container = {
    name,
    image,
    command,
    securityContext: restricted,
    resources: { requests: { cpu: '20m', memory: '64Mi' } },
    volumeMounts: folders.map(({ mount }) => mount),
  };
  const spec = {
    restartPolicy: 'Never',
    serviceAccountName: serviceAccount,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: restrictedPod(1000),
    containers: [container],
    volumes: folders.map(({ volume }) => volume),
  };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { role: name } }, spec };
}

/** Runs a pod to its end and removes it; resolves with what it printed, throws with it if it failed. */
export async function runPod(on: Namespace, pod: PodToRun): Promise<string> {
  const { name } = pod;
  await on.apply([podOf(pod)]);
  try {
    const phase = await until(`the pod ${name} does not end`, async () => {
      const [found] = await on.list('pods', `role=${name}`);
      const now = found?.status?.phase ?? '';
      return ['Succeeded', 'Failed'].includes(now) ? now : undefined;
    });
    const output = await on.kubectl(['logs', name]);
    if (phase === 'Failed') throw new Error(`the pod ${name} failed: ${output.trim().slice(-500)}`);
    return output;
  } finally {
    await on.kubectl(['delete', 'pod', name, '--wait=true']);
  }
}
