import { difference } from '../load.ts';
import { dump, restoreDump } from '../stores.ts';
import { check, type Scenario } from '../scenario.ts';

/** docs/operations.md#back-up-and-restore: afterwards refresh tokens of the time before are refused, all else works. */
export const restore: Scenario = {
  name: 'restore',
  errors: 'until it recovers',
  async run({ on, release, load }) {
    await load.more(50);
    await dump(on);
    await load.more(50);
    const before = await load.counts();
    const deployments = release.components.map((name) => `deployment/tessera-${name}`);
    await on.kubectl(['scale', '--replicas=0', ...deployments]);
    await release.settled();
    await restoreDump(on);
    const directory = release.topology === 'compact' ? 'standalone' : 'directory';
    await on.kubectl(['scale', '--replicas=1', `deployment/tessera-${directory}`]);
    await release.settled();
    const [pod = ''] = await release.pods(directory);
    await on.kubectl(['exec', pod, '--', 'node', '/app/deploy/image/start.ts', 'tessera', 'epoch', 'bump']);
    await on.kubectl(['scale', '--replicas=2', ...deployments]);
    await release.upgrade({ state: { revision: 'restored' } });
    await load.more(50);
    const { refresh = {} } = difference(before, await load.counts());
    check((refresh['400'] ?? 0) > 0, 'a refresh token of the time before the restore was accepted');
  },
};
