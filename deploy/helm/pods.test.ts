import { describe, expect, test } from 'vitest';
import { least, podsOf, render, type Manifest, type Values } from './chart.ts';

const everyPod: Values = {
  ...least,
  throwAwayStores: { enabled: true },
  state: { tenants: [{ id: 'acme', name: 'Acme' }] },
};
const kindsOf = (values: Values) => podsOf(render({ ...everyPod, ...values }));
const isTask = ({ kind }: Manifest) => kind === 'Job' || kind === 'Pod';

describe('Where pods may run', () => {
  const scheduling = {
    nodeSelector: { pool: 'identity' },
    tolerations: [{ key: 'identity', operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    priorityClassName: 'high',
  };

  test('is told by `defaults` for every pod: components, Jobs, the test, stores to throw away', () => {
    const pods = kindsOf({ defaults: scheduling });
    expect(new Set(pods.map(({ of }) => of.kind))).toEqual(new Set(['Deployment', 'Job', 'Pod']));
    for (const { of, pod } of pods) expect(pod.spec, of.metadata.name).toMatchObject(scheduling);
  });

  test('is told by `jobs` for Jobs and the test alone', () => {
    for (const { of, pod } of kindsOf({ jobs: scheduling })) {
      const { nodeSelector, tolerations, affinity, priorityClassName } = pod.spec;
      expect({ nodeSelector, tolerations, affinity, priorityClassName }, of.metadata.name).toEqual(
        isTask(of) ? scheduling : {},
      );
    }
  });
});

describe('Jobs and the test', () => {
  const tasks = (jobs: Values) => kindsOf({ jobs }).filter(({ of }) => isTask(of));

  test('have labels and annotations of their own, which take nothing away', () => {
    const found = tasks({ podLabels: { team: 'identity' }, podAnnotations: { note: 'job' } });
    expect(found).toHaveLength(3);
    for (const { pod } of found) {
      expect(pod.metadata.labels).toMatchObject({ team: 'identity', 'app.kubernetes.io/name': 'tessera' });
      expect(pod.metadata.annotations).toMatchObject({ note: 'job' });
    }
  });

  test('go without a sidecar of Istio and Linkerd if `jobs.sidecars` is false', () => {
    for (const { pod } of tasks({ sidecars: false })) {
      expect(pod.metadata.labels['sidecar.istio.io/inject']).toBe('false');
      expect(pod.metadata.annotations?.['linkerd.io/inject']).toBe('disabled');
    }
    for (const { pod } of tasks({})) {
      expect(pod.metadata.labels).not.toHaveProperty(['sidecar.istio.io/inject']);
      expect(pod.metadata.annotations ?? {}).not.toHaveProperty(['linkerd.io/inject']);
    }
  });
});
