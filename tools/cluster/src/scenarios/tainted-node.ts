import { randomBytes } from 'node:crypto';
import { cluster } from '../kubernetes.ts';
import { check, NotPossibleHere, type Scenario } from '../scenario.ts';

/**
 * A node takes only pods that tolerate its taint: with `defaults.tolerations` all pods, Jobs and the test pod run
 * there.
 */
export const taintedNode: Scenario = {
  name: 'tainted node',
  errors: 'none',
  async run({ on, release, load, node }) {
    if (node === undefined) {
      throw new NotPossibleHere(
        'TESSERA_TEST_NODE names no node that may be tainted for the time of the test',
      );
    }
    const key = `tessera-test-${randomBytes(4).toString('hex')}`;
    const hostname = await cluster([
      'get',
      'node',
      node,
      '--output=jsonpath={.metadata.labels.kubernetes\\.io/hostname}',
    ]);
    await load.more(50);
    await cluster(['taint', 'node', node, `${key}=test:NoSchedule`]);
    on.atTheEnd(() => cluster(['taint', 'node', node, `${key}-`]));
    try {
      const defaults = {
        nodeSelector: { 'kubernetes.io/hostname': hostname },
        tolerations: [{ key, operator: 'Exists' }],
      };
      await release.upgrade({ defaults, state: { revision: key } });
      const pods = await on.list('pods', 'app.kubernetes.io/instance=tessera');
      const elsewhere = pods.filter(({ spec }) => spec?.nodeName !== node && spec?.nodeName !== undefined);
      const ofBefore = new Set(['Succeeded', 'Failed']);
      const strayed = elsewhere.filter(({ status }) => !ofBefore.has(status?.phase ?? ''));
      check(
        strayed.length === 0,
        `not on ${node}: ${strayed.map(({ metadata }) => metadata.name).join(', ')}`,
      );
      await on.helm(['test', 'tessera', '--timeout=5m']);
    } finally {
      await on.end();
    }
    await release.upgrade({});
    await load.more(50);
  },
};
