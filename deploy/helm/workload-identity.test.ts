import { describe, expect, test } from 'vitest';
import { least, render, type Values } from './chart.ts';
import type { Manifest, PodSpec } from './manifest.ts';

const everything: Values = {
  ...least,
  throwAwayStores: { enabled: true },
  introspection: { enabled: true },
  networkPolicy: { enabled: true },
};
const rendered = (values: Values) => render(everything, values);

describe('Trust in service accounts of the cluster', () => {
  const named = (manifests: readonly Manifest[], kind: string, name: string) =>
    manifests.find((each) => each.kind === kind && each.metadata.name === name);
  const podOf = (manifests: readonly Manifest[], name: string) =>
    named(manifests, 'Deployment', `release-tessera-${name}`)?.spec.template?.spec;
  const environmentOf = (manifests: readonly Manifest[], name: string) =>
    podOf(manifests, name)?.containers[0]?.env ?? [];
  const kubernetesIssuer = { enabled: true };
  const own = { serviceAccountToken: { path: 'token', expirationSeconds: 3600 } };

  test.each([
    ['split', 'directory'],
    ['compact', 'standalone'],
  ])('in %s gives %s alone a token that asks the API server', (topology, name) => {
    const manifests = rendered({ topology, kubernetesIssuer, networkPolicy: { enabled: true } });
    expect(environmentOf(manifests, name)).toEqual(
      expect.arrayContaining([
        { name: 'TESSERA_KUBERNETES_API', value: 'https://kubernetes.default.svc' },
        { name: 'TESSERA_KUBERNETES_CREDENTIALS', value: '/run/tessera/kubernetes' },
      ]),
    );
    expect(JSON.stringify(podOf(manifests, name)?.volumes)).toContain(JSON.stringify(own));
    const having = manifests.filter((each) =>
      JSON.stringify(each.spec?.template ?? {}).includes('serviceAccountToken'),
    );
    expect(having.map(({ metadata }) => metadata.name)).toEqual([`release-tessera-${name}`]);
    const ports = (named(manifests, 'NetworkPolicy', `release-tessera-${name}`)?.spec.egress ?? []).flatMap(
      (rule) => rule.ports?.map(({ port }) => port) ?? [],
    );
    expect(ports).toEqual(expect.arrayContaining([443, 6443]));
    expect(manifests.filter(({ kind }) => /Role|Binding/.test(kind))).toEqual([]);
  });

  test('lets the directory fetch the keys of issuers through its policy, unless it shall not', () => {
    const portsWith = (networkPolicy: object) =>
      JSON.stringify(
        named(rendered({ networkPolicy }), 'NetworkPolicy', 'release-tessera-directory')?.spec.egress,
      );
    expect(portsWith({ enabled: true })).toContain('"port":443');
    expect(portsWith({ enabled: true, trustedIssuers: false })).not.toContain('"port":443');
    expect(portsWith({ enabled: true })).not.toContain('6443');
  });

  test('binds one ClusterRole for TokenReviews, if they are wanted', () => {
    const manifests = rendered({ kubernetesIssuer: { enabled: true, tokenReview: true } });
    expect(environmentOf(manifests, 'directory')).toContainEqual({
      name: 'TESSERA_KUBERNETES_TOKEN_REVIEW',
      value: 'true',
    });
    const bindings = manifests.filter(({ kind }) => /Role|Binding/.test(kind));
    expect(bindings).toMatchObject([
      {
        kind: 'ClusterRoleBinding',
        roleRef: { kind: 'ClusterRole', name: 'system:auth-delegator' },
        subjects: [{ kind: 'ServiceAccount', name: 'release-tessera', namespace: 'id' }],
      },
    ]);
  });

  test('is how the console and helm test prove who they are, without a secret', () => {
    const administration = {
      enabled: true,
      operatorTenant: 'acme',
      console: { url: 'https://console.example' },
    };
    const manifests = rendered({ administration, kubernetesIssuer, tests: { serviceAccountToken: true } });
    const file = '/run/tessera/identity/token';
    expect(environmentOf(manifests, 'admin')).toContainEqual({
      name: 'TESSERA_CONSOLE_TOKEN_FILE',
      value: file,
    });
    expect(environmentOf(manifests, 'directory')).toContainEqual({
      name: 'TESSERA_CONSOLE_IDENTITY',
      value: 'https://kubernetes.default.svc.cluster.local=system:serviceaccount:id:release-tessera',
    });
    const smoke = named(manifests, 'Pod', 'release-tessera-smoke')?.spec as PodSpec | undefined;
    expect(smoke?.containers[0]?.env).toEqual([{ name: 'TESSERA_CLIENT_ASSERTION_FILE', value: file }]);
    for (const pod of [smoke, podOf(manifests, 'admin')])
      expect(JSON.stringify(pod?.volumes)).toContain('"audience":"https://id.example.com"');
    expect(JSON.stringify(manifests)).not.toMatch(/CONSOLE_SECRET|CLIENT_SECRET/);
  });

  test.each([
    ['split', 'admin'],
    ['compact', 'standalone'],
  ])('is how the Job applies the state in %s by calling %s, if it shall', (topology, front) => {
    const manifests = rendered({
      topology,
      administration: { enabled: true, operatorTenant: 'acme' },
      state: { tenants: [{ id: 'acme', name: 'Acme' }], serviceAccountToken: true },
    });
    const job = manifests.find(({ kind, metadata }) => kind === 'Job' && metadata.name.includes('-apply-'));
    const pod = job?.spec.template?.spec;
    expect(pod?.containers[0]?.args).not.toContain('--direct');
    expect(pod?.containers[0]?.env).toEqual([
      { name: 'NODE_ENV', value: 'production' },
      { name: 'TESSERA_API', value: 'https://release-tessera-administration.id.svc:9002' },
      { name: 'TESSERA_API_CA_FILE', value: '/run/tessera/administration/ca.crt' },
      { name: 'TESSERA_ISSUER', value: 'https://id.example.com' },
      { name: 'TESSERA_CLIENT_ASSERTION_FILE', value: '/run/tessera/identity/token' },
    ]);
    // Of the certificate of administration, no key.
    expect(JSON.stringify(pod?.volumes)).not.toMatch(/tls\.key|database|directoryPepper/);
    expect(pod?.volumes?.map(({ name }) => name)).toEqual(['state', 'administration', 'identity']);
    const policyOf = (name: string) =>
      JSON.stringify(named(manifests, 'NetworkPolicy', `release-tessera-${name}`)?.spec);
    expect(policyOf('apply')).toContain(`"${front}"`);
    expect(policyOf(front)).toContain('"apply"');
    if (front === 'admin') expect(policyOf('directory')).not.toContain('"apply"');
  });

  test('is refused for the Job without TLS', () => {
    const state = { tenants: [{ id: 'acme', name: 'Acme' }], serviceAccountToken: true };
    const rpc = { auth: 'token', token: { existingSecret: 'rpc' } };
    expect(() => rendered({ state, rpc, administration: { enabled: true } })).toThrow(/needs administration/);
    expect(() => rendered({ state })).toThrow(/needs administration/);
  });

  test('is required for the console, and one of two ways of the test', () => {
    const administration = { enabled: true, console: { url: 'https://console.example' } };
    expect(() => rendered({ administration })).toThrow(/needs kubernetesIssuer\.enabled/);
    expect(() => rendered({ tests: { serviceAccountToken: true, clientSecret: 'x' } })).toThrow(
      /exclude each other/,
    );
  });

  test.each([
    ['split', 'admin'],
    ['compact', 'standalone'],
  ])('publishes the console in %s at its own host and path, and never the API', (topology, component) => {
    const console = {
      url: 'https://console.example',
      ingress: { enabled: true, className: 'nginx', tlsSecret: 'console-tls' },
      httpRoute: { enabled: true, parentRefs: [{ name: 'inside' }] },
    };
    const administration = { enabled: true, console };
    const manifests = rendered({ topology, administration, kubernetesIssuer });
    const backend = { service: { name: 'release-tessera-administration', port: { name: 'administration' } } };
    expect(named(manifests, 'Ingress', 'release-tessera-console')).toMatchObject({
      metadata: { labels: { 'app.kubernetes.io/component': component } },
      spec: {
        ingressClassName: 'nginx',
        tls: [{ hosts: ['console.example'], secretName: 'console-tls' }],
        rules: [
          {
            host: 'console.example',
            http: { paths: [{ path: '/console', pathType: 'Prefix', backend }] },
          },
        ],
      },
    });
    expect(named(manifests, 'HTTPRoute', 'release-tessera-console')?.spec).toMatchObject({
      hostnames: ['console.example'],
      rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/console' } }] }],
    });
    const without = { enabled: true, console: { ingress: { enabled: true } } };
    expect(() => rendered({ administration: without })).toThrow(/need administration\.console\.url/);
  });
});
