import type { Operation } from '../history/history.ts';
import type { Cluster } from '../system/cluster.ts';

/** How many values issued by one version were served by the other, from the logs of the gateways. */
export function countCrossings(
  cluster: Cluster,
  operations: readonly Operation[],
  old: string,
): { forward: number; back: number } {
  const versions = new Map<string, 'old' | 'new'>();
  for (const { service, runs } of cluster.replicas) {
    if (service !== 'gateway') continue;
    for (const { root, output } of runs) {
      for (const [, id = ''] of output.matchAll(/"requestId":"([^"]+)"/g)) {
        versions.set(id, root === old ? 'old' : 'new');
      }
    }
  }
  const makers = new Map<string, string | undefined>();
  const crossings = { forward: 0, back: 0 };
  for (const { id, presented, outcome, delivered } of operations) {
    const by = versions.get(id);
    const maker = makers.get(presented ?? '');
    if (outcome.result === 'good' && maker === 'old' && by === 'new') crossings.forward += 1;
    if (outcome.result === 'good' && maker === 'new' && by === 'old') crossings.back += 1;
    for (const { hash } of delivered) if (!makers.has(hash)) makers.set(hash, by);
  }
  return crossings;
}
