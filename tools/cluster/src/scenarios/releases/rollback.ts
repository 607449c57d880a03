import { until } from '../../kubernetes.ts';
import { check, type Scenario, type Stage } from '../../scenario.ts';

/**
 * An autoscaler sets the number of replicas by its limits alone, without metrics. `helm rollback` between revisions
 * that it worked in, off, and back to the revisions before it: Helm never conflicts with it, and clients notice
 * nothing.
 */
export const rollback: Scenario = {
  name: 'rollback',
  errors: 'none',
  async run(stage) {
    const { release, load } = stage;
    const component = release.topology === 'compact' ? 'standalone' : 'token';
    const autoscaled = (replicas: number) => ({
      [component]: { autoscaling: { enabled: true, minReplicas: replicas, maxReplicas: replicas } },
    });
    await load.more(50);
    const fixed = await release.revision();
    await release.upgrade(autoscaled(3));
    await reaches(stage, component, 3);
    await release.upgrade(autoscaled(3), { roll: true });
    const three = await release.revision();
    await release.upgrade(autoscaled(4), { roll: true });
    await reaches(stage, component, 4);

    await release.rollback(three);
    await reaches(stage, component, 3);
    await load.more(50);

    await release.upgrade({});
    await reaches(stage, component, 2);
    await release.upgrade({});
    check((await autoscalers(stage)) === 0, 'an autoscaler is left after it was switched off');
    check((await release.replicas(component)) === 2, 'helm upgrade changed the declared number of replicas');

    await release.rollback(three);
    await reaches(stage, component, 3);
    await release.rollback(fixed, { force: true });
    check((await release.replicas(component)) === 2, 'the rollback did not bring the declared number');
    check((await autoscalers(stage)) === 0, 'an autoscaler is left after the rollback');
    await release.upgrade({}, { roll: true });
    await load.more(50);
    return `${await release.revision()} revisions, three of them by helm rollback`;
  },
};

async function reaches({ release }: Stage, component: string, replicas: number): Promise<void> {
  await release.revision();
  await until(`the autoscaler does not bring ${replicas} replicas`, async () =>
    (await release.replicas(component)) === replicas ? true : undefined,
  );
  await release.settled();
}

const autoscalers = async ({ on }: Stage) => (await on.list('horizontalpodautoscalers')).length;
