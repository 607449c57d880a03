import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import type { Manifest, Pod, PodSpec } from './manifest.ts';

export const chartDirectory = join(import.meta.dirname, 'tessera');

export type Values = Readonly<Record<string, unknown>>;

/** Runs Helm on the chart; throws what it prints. */
export function helm(
  command: 'lint' | 'template',
  values: readonly Values[],
  version = '1.30.14',
  apiVersions: readonly string[] = [],
): string {
  const merged = Object.assign({}, ...values) as Values;
  const release = command === 'template' ? ['release'] : [];
  const options = ['--namespace', 'id', '--kube-version', version, '--values', '-'];
  const known = apiVersions.flatMap((each) => ['--api-versions', each]);
  const args = [command, ...release, chartDirectory, ...options, ...known];
  return execFileSync(process.env['TESSERA_TEST_HELM'] ?? 'helm', args, {
    input: stringify(merged),
    encoding: 'utf8',
    stdio: 'pipe',
    maxBuffer: 1 << 26,
  });
}

/** Holds manifests against the schemas of a Kubernetes and its extensions; throws what does not fit. */
export function kubeconform(text: string, version: string): void {
  const location = join(
    process.env['TESSERA_TEST_SCHEMAS'] ?? '',
    version,
    '{{.ResourceKind}}{{.KindSuffix}}.json',
  );
  const args = ['-strict', '-summary', '-schema-location', location, '-'];
  try {
    execFileSync(process.env['TESSERA_TEST_KUBECONFORM'] ?? 'kubeconform', args, {
      input: text,
      stdio: 'pipe',
    });
  } catch (error) {
    throw new Error(String((error as { stdout?: Buffer }).stdout), { cause: error });
  }
}

export function manifestsOf(text: string): Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0] ?? new Error('no YAML');
    const manifest = document.toJS() as Manifest | null;
    return manifest === null ? [] : [manifest];
  });
}

export const render = (...values: readonly Values[]): Manifest[] => manifestsOf(helm('template', values));

/** Pods that the manifests make, by the name of what makes them. */
export function podsOf(manifests: readonly Manifest[]): { readonly of: Manifest; readonly pod: Pod }[] {
  return manifests.flatMap((manifest) => {
    if (manifest.spec?.template !== undefined) return [{ of: manifest, pod: manifest.spec.template }];
    if (manifest.kind !== 'Pod') return [];
    return [{ of: manifest, pod: { metadata: manifest.metadata, spec: manifest.spec as PodSpec } }];
  });
}

/** The least that the chart asks for. */
export const least: Values = {
  issuer: 'https://id.example.com',
  database: { existingSecret: 'database' },
  redis: { existingSecret: 'redis' },
  secrets: {
    keysKek: { existingSecret: 'secrets' },
    directoryPepper: { existingSecret: 'secrets' },
    tokenRefreshKeys: { existingSecret: 'secrets' },
  },
  rpc: { mtls: { certManager: { issuerRef: { name: 'internal' } } } },
};

const everywhere: Values = {
  http: { trustedProxies: ['10.0.0.0/8'], trustedCallers: ['none'] },
  ingress: { enabled: true, className: 'nginx', tlsSecret: 'id-tls' },
  httpRoute: { enabled: true, parentRefs: [{ name: 'public', namespace: 'gateways' }] },
  introspection: {
    enabled: true,
    grpcRoute: { enabled: true, hostnames: ['introspect.example.com'], parentRefs: [{ name: 'internal' }] },
  },
  administration: { enabled: true, operatorTenant: 'acme' },
  networkPolicy: {
    enabled: true,
    administrationFrom: [{ podSelector: { matchLabels: { name: 'console' } } }],
    httpFrom: [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }],
    metricsFrom: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
    introspectionFrom: [{ podSelector: {} }],
    database: { to: [{ ipBlock: { cidr: '10.1.0.0/16' } }], port: 6432 },
    collector: { to: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }], port: 4318 },
    dnsTo: [{ namespaceSelector: {} }],
    extraEgress: [{ ports: [{ port: 443, protocol: 'TCP' }] }],
  },
  state: {
    tenants: [
      { id: 'acme', name: 'Acme' },
      { id: 'beta', name: 'Beta', issuer: 'https://id.example.com/t/beta' },
      { id: 'gamma', name: 'Gamma', issuer: 'https://login.gamma.example:8443' },
    ],
    secrets: ['acme-clients'],
  },
  extraHosts: ['login.delta.example', 'id.example.com/t/epsilon'],
  commonLabels: { team: 'identity' },
  commonAnnotations: { owner: 'identity' },
  secrets: {
    keysKek: { existingSecret: 'secrets' },
    directoryPepper: { existingSecret: 'secrets', key: 'pepper' },
    tokenRefreshKeys: { existingSecret: 'refresh' },
    deviceHmacKey: { existingSecret: 'secrets' },
    webhookKey: { existingSecret: 'secrets' },
    smtpUrl: { existingSecret: 'secrets' },
  },
  redis: {
    existingSecret: 'redis',
    sentinelPassword: { existingSecret: 'redis', key: 'sentinels' },
    tls: { existingSecret: 'redis-tls', clientCertificate: true },
  },
  migrations: { existingSecret: 'database-owner' },
  trustedCa: { existingSecret: 'stores-ca' },
  metrics: {
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    podMonitor: { enabled: true },
    prometheusRule: { enabled: true },
    dashboard: { enabled: true },
  },
  tracing: {
    endpoint: 'http://collector.monitoring.svc.cluster.local.:4318',
    ratio: 0.05,
    headers: { existingSecret: 'collector' },
  },
  tests: { clientSecret: 'smoke' },
  image: {
    repository: 'registry.example.com/tessera',
    digest: `sha256:${'0'.repeat(64)}`,
    pullSecrets: ['registry'],
  },
  config: {
    TESSERA_AUTHORIZATION_CODE_TTL: '30s',
    TESSERA_LOGIN_FAILURES_PER_ACCOUNT: 5,
    TESSERA_MAIL_FROM: 'tessera@example.com',
  },
  extraEnv: [{ name: 'UV_THREADPOOL_SIZE', value: '8' }],
  jobs: { podLabels: { team: 'identity' }, podAnnotations: { example: 'job' }, sidecars: false },
  defaults: {
    autoscaling: { enabled: true },
    podAnnotations: { example: 'value' },
    tolerations: [{ operator: 'Exists' }],
    priorityClassName: 'high',
  },
};

/** The value sets that every test of the chart runs over. */
export const valueSets: readonly { readonly name: string; readonly values: Values }[] = [
  { name: 'the least', values: least },
  { name: 'compact', values: { ...least, topology: 'compact' } },
  { name: 'split with everything', values: { ...least, ...everywhere } },
  {
    name: 'compact with everything',
    values: { ...least, ...everywhere, topology: 'compact', profile: 'strict' },
  },
  {
    name: 'a shared token, migrations by the processes themselves, roles of their own',
    values: {
      ...least,
      rpc: { auth: 'token', token: { existingSecret: 'rpc' } },
      migrations: { job: false },
      keys: { databaseSecret: 'database-keys', replicas: 1, config: { TESSERA_DATABASE_POOL_SIZE: 3 } },
      state: { existingConfigMap: 'tenants' },
      tests: { enabled: false },
      drain: { pauseSeconds: 0, timeoutSeconds: 60 },
    },
  },
  {
    name: 'certificates that exist, stores to throw away',
    values: {
      ...least,
      database: {},
      redis: {},
      throwAwayStores: { enabled: true },
      serviceAccount: { name: 'tessera' },
      fullnameOverride: 'id',
      state: { tenants: [{ id: 'acme', name: 'Acme' }] },
      rpc: {
        mtls: {
          existingSecrets: Object.fromEntries(
            ['gateway', 'authorize', 'token', 'device', 'keys', 'directory', 'operator'].map((name) => [
              name,
              `${name}-tls`,
            ]),
          ),
        },
      },
    },
  },
];
