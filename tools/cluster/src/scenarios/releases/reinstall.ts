import { difference } from '../../load.ts';
import { kindsOfRelease, ofRelease } from '../../release.ts';
import { check, type Scenario } from '../../scenario.ts';

/**
 * Uninstalled with autoscalers, nothing of the release is left; installed again on the same stores, clients go on with
 * their refresh tokens.
 */
export const reinstall: Scenario = {
  name: 'uninstall and reinstall',
  errors: 'until it recovers',
  async run({ on, release, load }) {
    await release.upgrade({ defaults: { autoscaling: { enabled: true, maxReplicas: 3 } } });
    const before = await load.counts();
    await release.uninstall();
    const left = await on.list(kindsOfRelease, ofRelease);
    const names = left.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    check(left.length === 0, `left after helm uninstall: ${names.join(', ')}`);
    await release.install();
    await load.more(50);
    const { refresh = {} } = difference(before, await load.counts());
    check(refresh['400'] === undefined, 'a refresh token of the time before was refused');
  },
};
