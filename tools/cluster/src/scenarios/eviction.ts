import { until } from '../kubernetes.ts';
import type { Scenario, Stage } from '../scenario.ts';

/** Every pod is evicted as when its node is drained, as soon as the disruption budget allows it; no node is touched. */
export const eviction: Scenario = {
  name: 'eviction',
  errors: 'none',
  async run({ on, release, load }) {
    await load.more(50);
    const ofComponent = async (component: string) => {
      for (const pod of await release.pods(component)) await evict(on, pod);
    };
    await Promise.all(release.components.map(ofComponent));
    await release.settled();
    await load.more(50);
  },
};

async function evict(on: Stage['on'], pod: string): Promise<void> {
  const request = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace: on.name } };
  const path = `/api/v1/namespaces/${on.name}/pods/${pod}/eviction`;
  await until(`${pod} cannot be evicted`, async () => {
    try {
      await on.kubectl(['create', '--raw', path, '--filename', '-'], JSON.stringify(request));
      return true;
    } catch (error) {
      if (String(error).includes('disruption budget')) return undefined;
      throw error;
    }
  });
}
