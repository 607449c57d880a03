import { describe, expect, test } from 'vitest';
import { helm, kubeconform, least, podsOf, render, type Values } from './chart.ts';
import type { Manifest } from './manifest.ts';

const everything: Values = {
  ...least,
  throwAwayStores: { enabled: true },
  introspection: { enabled: true },
  networkPolicy: { enabled: true },
  state: { tenants: [{ id: 'acme', name: 'Acme' }] },
  metrics: { serviceMonitor: { enabled: true }, podMonitor: { enabled: true }, dashboard: { enabled: true } },
};
const isThrowAway = ({ metadata }: Manifest) => /-(postgres|redis|throw-away)$/.test(metadata.name);

const rendered = (values: Values) => render(everything, values);
const specsOf = (manifests: readonly Manifest[], kind: string): Readonly<Record<string, unknown>>[] =>
  manifests.filter((each) => each.kind === kind && !isThrowAway(each)).map(({ spec }) => spec as Values);

describe('Labels and annotations', () => {
  const common = { commonLabels: { team: 'identity' }, commonAnnotations: { owner: 'identity' } };

  test('of all objects are `commonLabels`, with the pods, and `commonAnnotations`', () => {
    const manifests = rendered(common);
    const kinds = new Set(manifests.map(({ kind }) => kind));
    expect(kinds.size).toBeGreaterThan(10);
    for (const { kind, metadata } of manifests.filter((each) => each.kind !== 'Pod')) {
      expect(metadata.labels, `${kind} ${metadata.name}`).toMatchObject(common.commonLabels);
      expect(metadata.annotations, `${kind} ${metadata.name}`).toMatchObject(common.commonAnnotations);
    }
    for (const { pod } of podsOf(manifests)) expect(pod.metadata.labels).toMatchObject(common.commonLabels);
  });

  test('cannot take away what the chart finds its objects by', () => {
    const names = { 'app.kubernetes.io/name': 'other', 'app.kubernetes.io/component': 'other' };
    const labels = (values: Values) => render(everything, values).map(({ metadata }) => metadata.labels);
    expect(labels({ commonLabels: names })).toEqual(labels({}));
  });

  test('leave selectors as they are, which cannot be changed', () => {
    const selectors = (values: Values) =>
      specsOf(rendered(values), 'Deployment').map(({ selector }) => selector);
    expect(selectors(common)).toEqual(selectors({}));
  });

  test('of the public Service and of the service account are values of their own', () => {
    const labels = { exposed: 'public' };
    const manifests = rendered({ http: { service: { labels } }, serviceAccount: { labels } });
    const labelled = manifests.filter(({ metadata }) => metadata.labels['exposed'] === 'public');
    expect(labelled.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'ServiceAccount release-tessera',
      'Service release-tessera-gateway',
    ]);
  });
});

describe('The public Service', () => {
  const serviceWith = (service: Values) =>
    specsOf(rendered({ http: { service } }), 'Service').filter((each) => each['type']);

  test('has what a load balancer needs', () => {
    const loadBalancer = {
      externalTrafficPolicy: 'Local',
      loadBalancerSourceRanges: ['192.0.2.0/24'],
      loadBalancerClass: 'example.com/internal',
    };
    const [spec] = serviceWith({ type: 'LoadBalancer', nodePort: 30080, ...loadBalancer });
    expect(spec).toMatchObject({ ...loadBalancer, ports: [{ port: 80, nodePort: 30080 }] });
  });

  test('has nothing of that by itself', () => {
    expect(serviceWith({}).map((spec) => Object.keys(spec).toSorted())).toEqual([
      ['ports', 'selector', 'type'],
    ]);
  });
});

describe('Values of components', () => {
  test('tell how a disruption budget counts', () => {
    const budgets = specsOf(
      rendered({ gateway: { podDisruptionBudget: { minAvailable: '50%' } } }),
      'PodDisruptionBudget',
    );
    expect(budgets.map(({ minAvailable, maxUnavailable }) => minAvailable ?? maxUnavailable)).toEqual([
      1,
      1,
      1,
      '50%',
      1,
      1,
    ]);
  });

  test('tell how a Deployment is rolled out', () => {
    const strategyOf = (gateway: Values) => specsOf(rendered({ gateway }), 'Deployment')[3]?.['strategy'];
    const rollingUpdate = { maxUnavailable: 0, maxSurge: '50%' };
    expect(strategyOf({})).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    });
    expect(strategyOf({ strategy: { rollingUpdate: { maxSurge: '50%' } } })).toEqual({
      type: 'RollingUpdate',
      rollingUpdate,
    });
    expect(strategyOf({ strategy: { type: 'Recreate' } })).toEqual({ type: 'Recreate' });
    const [first] = specsOf(rendered({ defaults: { revisionHistoryLimit: 7 } }), 'Deployment');
    expect(first).toMatchObject({ revisionHistoryLimit: 7 });
  });

  test('tell how pods find others, Jobs and the test too', () => {
    const network = {
      hostAliases: [{ ip: '192.0.2.1', hostnames: ['postgres.example.com'] }],
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['192.0.2.53'], options: [{ name: 'ndots', value: '1' }] },
    };
    const pods = podsOf(rendered({ defaults: network })).filter(({ of }) => !isThrowAway(of));
    expect(pods.length).toBeGreaterThan(8);
    for (const { of, pod } of pods) expect(pod.spec, of.metadata.name).toMatchObject(network);
    const own = podsOf(rendered({ defaults: network, jobs: { dnsPolicy: 'Default' } })).filter(
      ({ of }) => of.kind === 'Job',
    );
    expect(own.map(({ pod }) => (pod.spec as unknown as Values)['dnsPolicy'])).toEqual([
      'Default',
      'Default',
    ]);
  });

  test('may be taken away by null, as a whole or one by one', () => {
    expect(rendered({ gateway: null })).toEqual(rendered({}));
    const limits = { resources: { limits: null } };
    const whole = { resources: null };
    const manifests = rendered({ gateway: limits, token: whole, jobs: limits });
    const resourcesOf = (name: string) =>
      podsOf(manifests).find(({ of }) => of.metadata.name.startsWith(name))?.pod.spec.containers[0]
        ?.resources;
    expect(resourcesOf('release-tessera-gateway')).toEqual({ requests: { cpu: '100m', memory: '192Mi' } });
    expect(resourcesOf('release-tessera-token')).toBeUndefined();
    expect(resourcesOf('release-tessera-migrate')).toEqual({ requests: { cpu: '50m', memory: '128Mi' } });
    const pods = podsOf(rendered({ defaults: limits })).filter(
      ({ of }) => of.kind === 'Deployment' && !isThrowAway(of),
    );
    for (const { pod } of pods) expect(pod.spec.containers[0]?.resources).not.toHaveProperty('limits');
  });
});

test('All of them together are what a Kubernetes takes, without a key it does not know', () => {
  const service = {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    loadBalancerSourceRanges: ['192.0.2.0/24'],
    loadBalancerClass: 'example.com/internal',
    nodePort: 30080,
    labels: { exposed: 'public' },
  };
  const defaults = {
    podDisruptionBudget: { minAvailable: '50%' },
    strategy: { rollingUpdate: { maxSurge: '50%' } },
    resources: { limits: null },
    hostAliases: [{ ip: '192.0.2.1', hostnames: ['postgres.example.com'] }],
    dnsPolicy: 'None',
    dnsConfig: { nameservers: ['192.0.2.53'], options: [{ name: 'ndots', value: '1' }] },
  };
  const gateway = { strategy: { type: 'Recreate' } };
  const common = { commonLabels: { team: 'identity' }, commonAnnotations: { owner: 'identity' } };
  const text = helm('template', [
    everything,
    { ...common, http: { service }, defaults, gateway, token: null },
  ]);
  expect(() => kubeconform(text, '1.36.3')).not.toThrow();
});

test('A PodMonitor scrapes every process, and nothing else', () => {
  const manifests = rendered({
    metrics: { podMonitor: { enabled: true, interval: '15s', labels: { release: 'prometheus' } } },
  });
  const [monitor] = manifests.filter(({ kind }) => kind === 'PodMonitor');
  expect(monitor?.metadata.labels).toMatchObject({ release: 'prometheus' });
  const { selector, podMetricsEndpoints } = (monitor?.spec ?? {}) as unknown as {
    selector: { matchLabels: Readonly<Record<string, string>> };
    podMetricsEndpoints: unknown;
  };
  expect(podMetricsEndpoints).toEqual([{ port: 'management', path: '/metrics', interval: '15s' }]);
  const found = podsOf(manifests).filter(({ pod }) =>
    Object.entries(selector.matchLabels).every(([key, value]) => pod.metadata.labels[key] === value),
  );
  expect(found.map(({ of }) => of.metadata.name)).toHaveLength(6);
  for (const { pod } of found)
    expect(pod.spec.containers[0]?.ports?.map(({ name }) => name)).toContain('management');
});

describe('`database.perService`', () => {
  const keysOf = (values: Values) =>
    podsOf(render(least, { database: { existingSecret: 'database', perService: true }, ...values })).flatMap(
      ({ pod }) =>
        (pod.spec.volumes ?? [])
          .flatMap(({ projected }) => projected?.sources ?? [])
          .filter(({ secret }) => secret?.name === 'database')
          .flatMap(({ secret }) => secret?.items ?? [])
          .map(({ key }) => key),
    );

  test('gives each component of split the URL under its own name, and the Job that of `key`', () => {
    expect(keysOf({}).toSorted()).toEqual(['authorize', 'device', 'directory', 'keys', 'token', 'url']);
  });

  test('leaves compact, which is one process, with one URL', () => {
    expect(new Set(keysOf({ topology: 'compact' }))).toEqual(new Set(['url']));
  });
});

describe('Administration', () => {
  const named = (manifests: readonly Manifest[], kind: string, name: string) =>
    manifests.find((each) => each.kind === kind && each.metadata.name === name);
  const environmentOf = (manifests: readonly Manifest[], name: string) =>
    named(manifests, 'Deployment', name)?.spec.template?.spec.containers[0]?.env ?? [];
  const administration = { enabled: true, operatorTenant: 'acme' };
  const listener = [
    { name: 'TESSERA_ADMIN_HOST', value: '::' },
    { name: 'TESSERA_ADMIN_PORT', value: '9002' },
    { name: 'TESSERA_OPERATOR_TENANT', value: 'acme' },
  ];

  test('is a component of its own in split, which calls every service and is called by nobody', () => {
    const manifests = rendered({ administration });
    expect(environmentOf(manifests, 'release-tessera-admin')).toEqual(expect.arrayContaining(listener));
    // The directory makes the first administrator, and the command line an application.
    expect(environmentOf(manifests, 'release-tessera-directory')).toContainEqual({
      name: 'TESSERA_OPERATOR_TENANT',
      value: 'acme',
    });
    expect(named(manifests, 'Service', 'release-tessera-administration')?.spec).toMatchObject({
      selector: { 'app.kubernetes.io/component': 'admin' },
      ports: [{ port: 9002, appProtocol: 'https' }],
    });
    expect(named(manifests, 'Certificate', 'release-tessera-admin-rpc')?.spec.dnsNames).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^admin\./),
        expect.stringContaining('release-tessera-administration.'),
      ]),
    );
    const callersOf = (name: string) =>
      JSON.stringify(named(manifests, 'NetworkPolicy', `release-tessera-${name}`)?.spec.ingress);
    for (const name of ['keys', 'directory', 'authorize', 'device', 'token'])
      expect(callersOf(name)).toContain('"admin"');
    expect(callersOf('admin')).toBe('null');
    const from = [{ podSelector: { matchLabels: { name: 'console' } } }];
    const opened = rendered({ administration, networkPolicy: { enabled: true, administrationFrom: from } });
    expect(named(opened, 'NetworkPolicy', 'release-tessera-admin')?.spec.ingress).toMatchObject([
      { ports: [{ port: 'administration' }], from },
    ]);
  });

  test('is a listener of the process in compact', () => {
    const manifests = rendered({ administration, topology: 'compact' });
    expect(environmentOf(manifests, 'release-tessera-standalone')).toEqual(expect.arrayContaining(listener));
    expect(named(manifests, 'Service', 'release-tessera-administration')?.spec).toMatchObject({
      selector: { 'app.kubernetes.io/component': 'standalone' },
    });
  });

  test('is absent unless it is asked for, and never public', () => {
    for (const topology of ['split', 'compact']) {
      expect(JSON.stringify(rendered({ topology }))).not.toMatch(/TESSERA_ADMIN|-administration/);
      const open = rendered({
        topology,
        administration,
        http: { trustedProxies: ['10.0.0.0/8'] },
        ingress: { enabled: true },
        httpRoute: { enabled: true, parentRefs: [{ name: 'public' }] },
      });
      const routes = open.filter(({ kind }) => ['Ingress', 'HTTPRoute', 'GRPCRoute'].includes(kind));
      expect(routes.length).toBeGreaterThan(1);
      expect(JSON.stringify(routes)).not.toMatch(/9002|-administration/);
    }
  });
});
