import { describe, expect, test } from 'vitest';
import { helm, kubeconform, least, manifestsOf, podsOf, render, type Values } from './chart.ts';
import type { Manifest } from './manifest.ts';

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

test('Every container requests processor time and memory, so that a busy node starves none', () => {
  for (const { of, pod } of kindsOf({})) {
    for (const { name, resources } of pod.spec.containers) {
      const requests = { cpu: expect.any(String) as string, memory: expect.any(String) as string };
      expect(resources?.requests, `${of.metadata.name} ${name}`).toMatchObject(requests);
    }
  }
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

describe('The security contexts', () => {
  const usersOf = (values: Values, ...apiVersions: string[]) =>
    podsOf(manifestsOf(helm('template', [{ ...everyPod, ...values }], '1.34.0', apiVersions))).map(
      ({ pod }) => pod.spec.securityContext,
    );

  test('fix no user and no group on OpenShift, which assigns them', () => {
    const found = usersOf({}, 'security.openshift.io/v1');
    expect(found.length).toBeGreaterThan(8);
    for (const context of found) {
      expect(context).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    }
  });

  test('can be overridden for all pods, by null too, and for Jobs alone', () => {
    const defaults = { podSecurityContext: { runAsUser: 2000, fsGroup: null } };
    const values = { throwAwayStores: { enabled: false }, database: { existingSecret: 'database' } };
    const expected = { runAsUser: 2000, runAsGroup: 1000, runAsNonRoot: true };
    for (const context of usersOf({ ...values, defaults })) {
      expect(context).toMatchObject(expected);
      expect(context).not.toHaveProperty('fsGroup');
    }
    const jobs = { podSecurityContext: { runAsUser: 3000 }, securityContext: { privileged: false } };
    for (const { of, pod } of kindsOf({ jobs }).filter(({ of: each }) => isTask(each))) {
      expect(pod.spec.securityContext, of.metadata.name).toEqual({ runAsUser: 3000 });
      expect(pod.spec.containers[0]?.securityContext).toEqual({ privileged: false });
    }
  });
});

describe('IPv6', () => {
  const hosts = (values: Values) =>
    podsOf(render({ ...least, introspection: { enabled: true }, ...values })).flatMap(({ pod }) =>
      (pod.spec.containers[0]?.env ?? []).flatMap(({ name, value }) =>
        name.endsWith('_HOST') ? (value ?? '') : [],
      ),
    );

  test('is listened on by every listener, as is IPv4, unless an address is given', () => {
    expect(hosts({}).length).toBeGreaterThan(11);
    expect(new Set(hosts({}))).toEqual(new Set(['::']));
    expect(new Set(hosts({ listenHost: '0.0.0.0' }))).toEqual(new Set(['0.0.0.0']));
  });

  test('is had by every Service where the values ask for it', () => {
    const values = {
      ...everyPod,
      introspection: { enabled: true },
      metrics: { serviceMonitor: { enabled: true } },
      ipFamilyPolicy: 'PreferDualStack',
      ipFamilies: ['IPv6', 'IPv4'],
    };
    const services = render(values).filter(({ kind }) => kind === 'Service');
    expect(services).toHaveLength(10);
    for (const { spec, metadata } of services) {
      const { ipFamilyPolicy, ipFamilies } = values;
      expect(spec, metadata.name).toMatchObject({ ipFamilyPolicy, ipFamilies });
    }
  });
});

describe('Values that extend the pods', () => {
  const container = { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' };
  const extra = {
    envFrom: [{ configMapRef: { name: 'common' } }],
    initContainers: [container],
    extraVolumes: [{ name: 'cache', emptyDir: {} }],
    extraVolumeMounts: [{ name: 'cache', mountPath: '/cache' }],
  };
  const probes = {
    livenessProbe: { periodSeconds: 21 },
    readinessProbe: { failureThreshold: 9 },
    startupProbe: { failureThreshold: 30 },
  };
  const values: Values = {
    ...least,
    state: { tenants: [{ id: 'acme', name: 'Acme' }] },
    tests: { enabled: false },
    defaults: {
      ...extra,
      ...probes,
      extraContainers: [{ name: 'beside', image: 'beside:1' }],
      podLabels: { team: 'identity' },
      priorityClassName: 'high',
      topologySpreadConstraints: [
        { topologyKey: 'rack', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} },
      ],
      autoscaling: {
        enabled: true,
        metrics: [{ type: 'Pods', pods: { metric: { name: 'x' }, target: { type: 'Value', value: '1' } } }],
        behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
      },
    },
    metrics: {
      serviceMonitor: {
        enabled: true,
        scrapeTimeout: '5s',
        relabelings: [{ action: 'labeldrop', regex: 'pod' }],
        metricRelabelings: [{ action: 'drop', sourceLabels: ['__name__'], regex: 'nodejs_.*' }],
      },
    },
    extraManifests: [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-object' }, data: {} },
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: "{{ .Release.Name }}-text" }\n',
    ],
  };
  const manifests = render(values);
  const specOf = (wanted: string) =>
    manifests.filter(({ kind }) => kind === wanted).map(({ spec }) => spec as Record<string, unknown>);

  test('are what Kubernetes takes', () => {
    expect(() => kubeconform(helm('template', [values]), '1.36.3')).not.toThrow();
  });

  test('reach every component and Job', () => {
    const pods = podsOf(manifests);
    expect(pods).toHaveLength(8);
    for (const { of, pod } of pods) {
      const { initContainers, extraVolumes, extraVolumeMounts, envFrom } = extra;
      expect(pod.spec, of.metadata.name).toMatchObject({ initContainers });
      expect(pod.spec.volumes).toEqual(expect.arrayContaining(extraVolumes));
      expect(pod.spec.containers[0]).toMatchObject({ envFrom });
      expect(pod.spec.containers[0]?.volumeMounts).toEqual(expect.arrayContaining(extraVolumeMounts));
    }
  });

  test('reach the components alone where a Job has no use for them', () => {
    for (const { of, pod } of podsOf(manifests)) {
      const isComponent = of.kind === 'Deployment';
      expect(pod.spec.containers.map(({ name }) => name).includes('beside')).toBe(isComponent);
      if (!isComponent) continue;
      expect(pod.spec.containers[0]).toMatchObject({
        livenessProbe: { httpGet: { path: '/livez' }, periodSeconds: 21, timeoutSeconds: 5 },
        readinessProbe: { httpGet: { path: '/readyz' }, failureThreshold: 9 },
        startupProbe: { httpGet: { path: '/livez' }, failureThreshold: 30 },
      });
      expect(pod.metadata.labels).toMatchObject({ team: 'identity' });
      expect(pod.spec).toMatchObject({
        priorityClassName: 'high',
        topologySpreadConstraints: [{ topologyKey: 'rack' }],
      });
    }
  });

  test('reach autoscaler and ServiceMonitor, and further manifests are rendered', () => {
    for (const { metrics, behavior } of specOf('HorizontalPodAutoscaler')) {
      expect(metrics).toMatchObject([{ type: 'Resource' }, { type: 'Pods' }]);
      expect(behavior).toEqual({ scaleDown: { stabilizationWindowSeconds: 600 } });
    }
    expect(specOf('ServiceMonitor')).toMatchObject([
      { endpoints: [{ scrapeTimeout: '5s', relabelings: [{}], metricRelabelings: [{ action: 'drop' }] }] },
    ]);
    const names = manifests.filter(({ kind }) => kind === 'ConfigMap').map(({ metadata }) => metadata.name);
    expect(names).toEqual(expect.arrayContaining(['release-object', 'release-text']));
  });
});

test('The test waits for what it reaches, as the rules of a network come some seconds after a pod', () => {
  const [smoke] = podsOf(render(least)).filter(({ of }) => of.kind === 'Pod');
  expect(smoke?.pod.spec.containers[0]?.args?.slice(0, 4)).toEqual(['tessera', 'smoke', '--wait', '60s']);
});
