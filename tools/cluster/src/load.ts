import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { host } from './declared-state.ts';
import { restricted, restrictedPod, until, type Namespace } from './kubernetes.ts';

/** Operation to answer to number of times; `ok` is the expected answer. */
export type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>;

interface Line {
  readonly counts: Counts;
  /** The last unexpected answers: time, operation, answer, request id. */
  readonly unexpected: readonly string[];
  /** The version of the mounted secrets. */
  readonly secrets: string;
}

/** Clients in a pod of the cluster, which go on from the first installation to the end. */
export interface Load {
  /** What was counted up to now. */
  counts(): Promise<Counts>;
  /** The last unexpected answers: time, operation, answer, request id. */
  unexpected(): Promise<readonly string[]>;
  /** Resolves when so many more requests were answered as expected; with what was counted meanwhile. */
  more(requests: number): Promise<Counts>;
  /** Resolves when the pod sees this version of its secrets. */
  seesSecrets(version: string): Promise<void>;
}

/** The pod of the clients. */
export const loadPod = 'load';

/** `secretName` has what `load-script.ts` reads. Nothing evicts the pod but the end of its node. */
export async function startLoad(
  on: Namespace,
  options: { readonly image: string; readonly front: string; readonly secretName: string },
): Promise<Load> {
  const script = readFileSync(join(import.meta.dirname, 'load-script.ts'), 'utf8');
  const base = `http://${options.front}.${on.name}`;
  await on.apply([
    // The ending says that it is a module, without a package.json next to it.
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: loadPod }, data: { 'load.mts': script } },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: loadPod, labels: { role: loadPod } },
      spec: {
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: restrictedPod(1000),
        containers: [
          {
            name: loadPod,
            image: options.image,
            command: ['node', '/load/load.mts', base, host, '/secrets'],
            securityContext: restricted,
            resources: { requests: { cpu: '20m', memory: '64Mi' } },
            volumeMounts: [
              { name: 'script', mountPath: '/load' },
              { name: 'secrets', mountPath: '/secrets' },
            ],
          },
        ],
        volumes: [
          { name: 'script', configMap: { name: loadPod } },
          { name: 'secrets', secret: { secretName: options.secretName, defaultMode: 0o440 } },
        ],
      },
    },
  ]);

  const last = () =>
    until('the load prints nothing', async () => {
      const text = await on.kubectl(['logs', loadPod, '--tail=1']).catch(() => '');
      return text.trim() === '' ? undefined : (JSON.parse(text) as Line);
    });
  const counts = async () => (await last()).counts;
  return {
    counts,
    unexpected: async () => (await last()).unexpected,
    async more(requests) {
      const before = await counts();
      return until(`the load got no ${requests} answers`, async () => {
        const since = difference(before, await counts());
        const { all, errors } = totals(since);
        return all - errors >= requests ? since : undefined;
      });
    },
    async seesSecrets(version) {
      await until('the load does not see its new secrets', async () =>
        (await last()).secrets === version ? true : undefined,
      );
    },
  };
}

export function difference(before: Counts, after: Counts): Counts {
  const entries = Object.entries(after).map(([operation, answers]) => {
    const more = Object.entries(answers)
      .map(([answer, times]) => [answer, times - (before[operation]?.[answer] ?? 0)] as const)
      .filter(([, times]) => times > 0);
    return [operation, Object.fromEntries(more)] as const;
  });
  return Object.fromEntries(entries.filter(([, answers]) => Object.keys(answers).length > 0));
}

/** How many requests, how many of them unexpected, and these by operation and answer. */
export function totals(counts: Counts): { all: number; errors: number; unexpected: string } {
  const flat = Object.entries(counts).flatMap(([operation, answers]) =>
    Object.entries(answers).map(([answer, times]) => ({ operation, answer, times })),
  );
  const wrong = flat.filter(({ answer }) => answer !== 'ok');
  const sum = (entries: typeof flat) => entries.reduce((total, { times }) => total + times, 0);
  return {
    all: sum(flat),
    errors: sum(wrong),
    unexpected: wrong.map(({ operation, answer, times }) => `${operation} ${answer}: ${times}`).join(', '),
  };
}
