import { probe } from '../probe.ts';
import { check, NotPossibleHere, type Scenario } from '../scenario.ts';

/**
 * The load may reach the public listener, strangers may reach nothing, and the processes and stores reach each other.
 */
export const networkPolicies: Scenario = {
  name: 'network policies',
  errors: 'none',
  async run({ on, release, load, image }) {
    const listeners = [
      { component: release.components[0] ?? '', port: 8080 },
      ...release.components.map((component) => ({ component, port: 9090 })),
      ...(release.topology === 'split' ? [{ component: 'directory', port: 9000 }] : []),
    ];
    const reached = async () => {
      const addresses = await Promise.all(
        listeners.map(async ({ component, port }) => {
          const [pod = ''] = await release.pods(component);
          const address = await on.kubectl(['get', 'pod', pod, '--output=jsonpath={.status.podIP}']);
          return { name: `${component}:${port}`, host: address, port };
        }),
      );
      return probe(on, image, addresses);
    };
    const front = release.components[0] ?? '';
    check((await reached()).length === listeners.length, 'a pod reaches no listener even without policies');
    await on.apply([denyProbe]);
    const isEnforced = (await reached()).length === 0;
    await on.kubectl(['delete', 'networkpolicy', denyProbe.metadata.name]);
    if (!isEnforced) throw new NotPossibleHere('the network plugin of the cluster does not enforce policies');

    await load.more(50);
    const store = (name: string) => ({ to: [{ podSelector: { matchLabels: { store: name } } }] });
    const networkPolicy = {
      enabled: true,
      httpFrom: [{ podSelector: { matchLabels: { role: 'load' } } }],
      database: store('postgres'),
      redis: store('redis'),
    };
    await release.upgrade({ networkPolicy }, { roll: true });
    const open = await reached();
    check(open.length === 0, `reached by a pod that may not: ${open.join(', ')}`);
    // The rules of a pod come some seconds after it. The test of the chart waits for its own, as the probe does.
    await on.helm(['test', 'tessera', '--timeout=5m']);
    const after = await load.more(100);
    check(after['client credentials'] !== undefined, `the load does not reach ${front}`);
    await release.upgrade({});
  },
};

/** Whether the cluster enforces policies at all shows in one that forbids the probe everything. */
const denyProbe = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'deny-probe' },
  spec: { podSelector: { matchLabels: { role: 'probe' } }, policyTypes: ['Egress'], egress: [] },
};
