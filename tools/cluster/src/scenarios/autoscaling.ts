import { cluster, until } from '../kubernetes.ts';
import { check, NotPossibleHere, type Scenario } from '../scenario.ts';

/** The load exceeds a very low target: a third replica comes, and a `helm upgrade` keeps it. */
export const autoscaling: Scenario = {
  name: 'autoscaling',
  errors: 'none',
  async run({ release, load }) {
    await cluster(['get', '--raw', '/apis/metrics.k8s.io/v1beta1/nodes']).catch(() => {
      throw new NotPossibleHere('the cluster has no metrics API (metrics-server)');
    });
    const component = release.topology === 'compact' ? 'standalone' : 'token';
    const scaled = {
      [component]: { autoscaling: { enabled: true, maxReplicas: 3, targetCPUUtilizationPercentage: 1 } },
    };
    await load.more(50);
    await release.upgrade(scaled);
    await until('the autoscaler adds no replica', async () =>
      (await release.replicas(component)) === 3 ? true : undefined,
    );
    await release.settled();
    await release.upgrade(scaled, { roll: true });
    check((await release.replicas(component)) === 3, 'helm upgrade changed the number of replicas');
    await release.upgrade({});
    await load.more(50);
  },
};
