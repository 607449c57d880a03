import type { Scenario } from '../scenario.ts';

/** One pod of each component in turn is deleted without a grace period. */
export const kill: Scenario = {
  name: 'kill of a pod',
  errors: 'until it recovers',
  async run({ on, release, load }) {
    await load.more(50);
    for (const component of release.components) {
      const [pod = ''] = await release.pods(component);
      await on.kubectl(['delete', 'pod', pod, '--grace-period=0', '--force']);
      await release.settled();
    }
  },
};
