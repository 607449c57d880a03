import type { Scenario } from '../../scenario.ts';

/**
 * Every pod is replaced: by the newer image if an older one was installed, else by the same with another annotation.
 */
export const rollingUpgrade: Scenario = {
  name: 'rolling upgrade',
  errors: 'none',
  async run({ release, load }) {
    await load.more(50);
    await release.upgrade({}, { roll: true });
    await load.more(50);
  },
};
