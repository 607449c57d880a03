import type { Scenario } from '../../scenario.ts';

/** The release was installed before the load began; `helm test` asks it from inside the cluster. */
export const install: Scenario = {
  name: 'install',
  errors: 'none',
  async run({ on, load }) {
    await on.helm(['test', 'tessera', '--timeout=5m']);
    await load.more(100);
  },
};
