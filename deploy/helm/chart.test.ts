import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { certifiedName } from '@tessera/rpc';
import { processes } from '../image/processes.ts';
import { configurationProblems } from '../../apps/cli/src/processes.ts';
import { helm, kubeconform, least, manifestsOf, podsOf, render, valueSets, type Values } from './chart.ts';
import type { Container, Manifest, PodSpec } from './manifest.ts';

const scratch = mkdtempSync(join(tmpdir(), 'tessera-chart-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const ofKind = (manifests: readonly Manifest[], kind: string) =>
  manifests.filter((manifest) => manifest.kind === kind);
const matches = (labels: Readonly<Record<string, string>>, selector: Readonly<Record<string, string>> = {}) =>
  Object.entries(selector).every(([key, value]) => labels[key] === value);
const isThrowAway = ({ metadata }: Manifest) => /-(postgres|redis|throw-away)$/.test(metadata.name);
const environmentOf = ({ env = [] }: Container) =>
  Object.fromEntries(env.map(({ name, value }) => [name, value ?? '']));

describe.each(valueSets)('The chart with $name', ({ values }) => {
  const text = helm('template', [values]);
  const manifests = manifestsOf(text);
  const pods = podsOf(manifests);
  const ours = pods.filter(({ of }) => !isThrowAway(of));

  test('passes helm lint', () => {
    expect(helm('lint', [values])).toContain('0 chart(s) failed');
  });

  test.each(['1.30.14', '1.36.3'])(
    'is what Kubernetes %s and its extensions take, without a key they do not know',
    (version) => {
      expect(() => kubeconform(helm('template', [values], version), version)).not.toThrow();
    },
  );

  test('renders nothing random and nothing secret', () => {
    expect(helm('template', [values])).toBe(text);
    expect(ofKind(manifests, 'Secret').filter((secret) => !isThrowAway(secret))).toEqual([]);
  });

  test('uses no hook but that of helm test, and no pod that waits for another', () => {
    const hooks = manifests.flatMap(({ metadata }) => metadata.annotations?.['helm.sh/hook'] ?? []);
    expect(hooks.every((hook) => hook === 'test')).toBe(true);
    expect(pods.flatMap(({ pod }) => pod.spec.initContainers ?? [])).toEqual([]);
  });

  test('asks for no right in the cluster, and keeps every pod in the restricted profile', () => {
    expect(manifests.filter(({ kind }) => /Role|Binding/.test(kind))).toEqual([]);
    for (const { pod } of pods) expectRestricted(pod.spec);
  });

  test('starts processes that the image has, with settings that their own schema accepts', () => {
    const started = ours
      .flatMap(({ pod }) => pod.spec.containers)
      .filter(({ args }) => args?.[0] !== 'tessera');
    expect(started.length).toBeGreaterThan(0);
    for (const container of started) {
      const [name = ''] = container.args ?? [];
      expect(Object.keys(processes)).toContain(name);
      expect(configurationProblems(name, withFiles(environmentOf(container)))).toEqual([]);
    }
  });

  test('mounts every file that it names in a setting', () => {
    for (const { pod } of ours) {
      for (const container of pod.spec.containers) {
        const files = Object.entries(environmentOf(container)).filter(([, value]) => value.startsWith('/'));
        for (const path of files.flatMap(([name, value]) => filesIn(name, value)))
          expect(mounted(pod.spec, container)).toContainEqual(expect.stringMatching(pathPattern(path)));
      }
    }
  });

  test('gives the process the time it takes to drain, before it is killed', () => {
    for (const { of, pod } of ours.filter(({ of }) => of.kind === 'Deployment')) {
      const { TESSERA_DRAIN_PAUSE: pause = '', TESSERA_DRAIN_TIMEOUT: timeout = '' } = environmentOf(
        pod.spec.containers[0] as Container,
      );
      // 15 s are what the process allows itself for closing.
      expect(pod.spec.terminationGracePeriodSeconds, of.metadata.name).toBeGreaterThan(
        Number.parseInt(pause, 10) + Number.parseInt(timeout, 10) + 15,
      );
    }
  });

  test('leads every Service to pods of one component, at a port they have', () => {
    for (const { metadata, spec } of ofKind(manifests, 'Service')) {
      if (metadata.name.endsWith('-metrics')) continue;
      const behind = pods.filter(
        ({ of, pod }) => of.kind === 'Deployment' && matches(pod.metadata.labels, spec.selector),
      );
      expect(behind, metadata.name).toHaveLength(1);
      const ports = behind[0]?.pod.spec.containers[0]?.ports?.map(({ name }) => name);
      for (const { targetPort } of spec.ports ?? []) expect(ports).toContain(targetPort);
    }
  });

  test('has every process measured, and nothing else', () => {
    const services = ofKind(manifests, 'Service').filter(({ metadata }) =>
      metadata.name.endsWith('-metrics'),
    );
    for (const { spec } of services) {
      const behind = pods
        .filter(({ pod }) => matches(pod.metadata.labels, spec.selector))
        .map(({ of }) => of);
      expect(behind).toEqual(
        ofKind(manifests, 'Deployment').filter((deployment) => !isThrowAway(deployment)),
      );
    }
  });

  test('calls peers by a name that ends with a dot, at a headless Service that says its protocol', () => {
    const peers = ours.flatMap(({ pod }) => pod.spec.containers.flatMap(environmentPeers));
    for (const address of peers) {
      const [, service] = /^([a-z-]+)\.id\.svc\.cluster\.local\.:9000$/.exec(address) ?? [];
      const found = ofKind(manifests, 'Service').find(({ metadata }) => metadata.name === service);
      expect(found?.spec.clusterIP, address).toBe('None');
      expect(found?.spec.ports?.[0]?.appProtocol).toMatch(/^(tls|kubernetes\.io\/h2c)$/);
    }
  });

  test('gives every process a certificate that the others take for it', () => {
    const certificates = ofKind(manifests, 'Certificate');
    for (const { metadata, spec } of certificates) {
      const process = metadata.labels['app.kubernetes.io/component'];
      expect(certifiedName(spec.dnsNames?.map((name) => `DNS:${name}`).join(', '))?.caller).toBe(process);
      const used = pods.some(({ pod }) =>
        pod.spec.volumes?.some(({ secret }) => secret?.secretName === spec.secretName),
      );
      expect(used, metadata.name).toBe(true);
    }
  });

  test('has policies that let every call through that is made, on both sides, and no other', () => {
    const policies = ofKind(manifests, 'NetworkPolicy');
    const called = new Set(
      ours.flatMap(({ of, pod }) =>
        pod.spec.containers
          .flatMap(environmentPeers)
          .map((address) => `${componentOf(of)} > ${calledBy(address)}`),
      ),
    );
    const outgoing = policies.flatMap((policy) =>
      edges(policy, 'egress').map((other) => `${componentOf(policy)} > ${other}`),
    );
    const incoming = policies.flatMap((policy) =>
      edges(policy, 'ingress').map((other) => `${other} > ${componentOf(policy)}`),
    );
    const expected = policies.length === 0 ? [] : [...called].toSorted();
    expect([...new Set(outgoing)].toSorted()).toEqual(expected);
    expect([...new Set(incoming)].toSorted()).toEqual(expected);
  });
});

describe('A trust domain', () => {
  const trustDomain = 'release-tessera.id.svc.cluster.local';
  const rpc = { mtls: { trustDomain, certManager: { issuerRef: { name: 'internal' } } } };
  const manifests = render({ ...least, rpc });

  test('is that of the names which the processes get, and is told to every process', () => {
    const certificates = ofKind(manifests, 'Certificate');
    expect(certificates.length).toBeGreaterThan(0);
    for (const { metadata, spec } of certificates) {
      const names = spec.dnsNames?.map((name) => `DNS:${name}`).join(', ');
      const process = metadata.labels['app.kubernetes.io/component'];
      expect(certifiedName(names, trustDomain)?.caller, names).toBe(process);
    }
    const processesOfOurs = podsOf(manifests).filter(
      ({ of }) => of.kind === 'Deployment' && !isThrowAway(of),
    );
    for (const { pod } of processesOfOurs) {
      for (const container of pod.spec.containers)
        expect(environmentOf(container)['TESSERA_RPC_TRUST_DOMAIN']).toBe(trustDomain);
    }
  });
});

describe('Traces', () => {
  const processesOf = (manifests: readonly Manifest[]) =>
    podsOf(manifests).flatMap(({ of, pod }) =>
      of.kind === 'Deployment' && !isThrowAway(of) ? pod.spec.containers.map(environmentOf) : [],
    );
  const leaves = (manifests: readonly Manifest[], port: number) =>
    ofKind(manifests, 'NetworkPolicy').filter(({ spec }) =>
      spec.egress?.some(({ ports = [] }) => ports.some((each) => each.port === port)),
    ).length;
  const networkPolicy = { enabled: true };

  test('are sent by every process where a collector is named, and may leave its pod', () => {
    const tracing = { endpoint: 'http://collector:4318', ratio: 0.05 };
    const manifests = render({ ...least, tracing, networkPolicy });
    const environments = processesOf(manifests);
    expect(environments).toHaveLength(6);
    for (const environment of environments) {
      expect(environment).toMatchObject({
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
        OTEL_TRACES_SAMPLER_ARG: '0.05',
      });
    }
    expect(leaves(manifests, 4318)).toBe(6);
  });

  test('are off where none is', () => {
    const manifests = render({ ...least, networkPolicy });
    const names = processesOf(manifests).flatMap((environment) => Object.keys(environment));
    expect(names.filter((name) => name.startsWith('OTEL_'))).toEqual([]);
    expect(leaves(manifests, 4318)).toBe(0);
  });
});

describe('The Jobs', () => {
  const names = (values: Values) => ofKind(render(values), 'Job').map(({ metadata }) => metadata.name);
  const state = (name: string) => ({ ...least, state: { tenants: [{ id: 'acme', name }] } });

  test('keep their names while nothing changes for them', () => {
    expect(names({ ...state('Acme'), gateway: { replicas: 5 } })).toEqual(names(state('Acme')));
  });

  test('get another name, and so run again, when what they run or apply changes', () => {
    const [migrate, apply] = names(state('Acme'));
    expect(names(state('Acme Inc'))).toEqual([migrate, expect.not.stringMatching(apply ?? '')]);
    const [newer] = names({ ...least, image: { tag: '2.0.0' } });
    expect(newer).not.toBe(migrate);
  });

  test('migrate again when migrations.revision changes, and apply the state as before', () => {
    const [migrate, apply] = names(state('Acme'));
    const again = names({ ...state('Acme'), migrations: { revision: 2 } });
    expect(again).toEqual([expect.not.stringMatching(migrate ?? ''), apply]);
  });

  test('end at once, with the list in their log, if the state would delete people or give administration, unless it is allowed', () => {
    const jobs = (more: Values) => {
      const tenants = [{ id: 'acme', name: 'Acme' }];
      return ofKind(render({ ...least, state: { tenants, ...more } }), 'Job').map(({ spec }) => ({
        args: spec.template?.spec.containers[0]?.args,
        rules: spec.podFailurePolicy?.rules,
      }));
    };
    const command = ['tessera', 'apply', '--file', '/run/tessera/state/tessera.yaml'];
    const onExitCodes = { containerName: 'apply', operator: 'In', values: [3] };
    const rules = [{ action: 'FailJob', onExitCodes }];
    expect(jobs({})).toEqual([{ args: ['tessera', 'migrate'] }, { args: command, rules }]);
    expect(jobs({ allowDelete: true })[1]).toEqual({ args: [...command, '--allow-delete'], rules });
    const allowed = jobs({ allowDelete: true, allowAdministration: true })[1]?.args;
    expect(allowed).toEqual([...command, '--allow-delete', '--allow-administration']);
    expect(jobs({ allowAdministration: true })[1]?.args).toEqual([...command, '--allow-administration']);
  });

  test('works on the database in compact, which need not serve the API', () => {
    const compact = { ...least, topology: 'compact', state: { tenants: [{ id: 'acme', name: 'Acme' }] } };
    const args = ofKind(render(compact), 'Job').map(({ spec }) => spec.template?.spec.containers[0]?.args);
    expect(args[1]).toEqual(['tessera', 'apply', '--file', '/run/tessera/state/tessera.yaml', '--direct']);
  });

  test('apply the state again when state.revision changes, and migrate as before', () => {
    const { state: declared } = state('Acme');
    const [migrate, apply] = names(state('Acme'));
    const again = names({ ...state('Acme'), state: { ...declared, revision: 2 } });
    expect(again).toEqual([migrate, expect.not.stringMatching(apply ?? '')]);
  });
});

test('The check against the schemas of Kubernetes is awake', () => {
  const text = helm('template', [least]).replace('enableServiceLinks: false', 'enableServiceLink: false');
  expect(() => kubeconform(text, '1.36.3')).toThrow('enableServiceLink');
});

function expectRestricted(spec: PodSpec): void {
  expect(spec.automountServiceAccountToken).toBe(false);
  expect(spec.enableServiceLinks).toBe(false);
  expect(spec.securityContext).toMatchObject({
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  });
  for (const container of spec.containers) {
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  }
}

const secretValues: Readonly<Record<string, string>> = {
  DATABASE_URL_FILE: 'postgres://user:password@postgres/tessera',
  REDIS_URL_FILE: 'rediss://redis',
  TESSERA_REDIS_SENTINEL_PASSWORD_FILE: randomBytes(32).toString('base64'),
  TESSERA_KEYS_KEK_FILE: randomBytes(32).toString('base64'),
  TESSERA_DIRECTORY_PEPPER_FILE: randomBytes(32).toString('base64'),
  TESSERA_TOKEN_REFRESH_KEYS_FILE: `1:${randomBytes(32).toString('base64')}`,
  TESSERA_DEVICE_HMAC_KEY_FILE: randomBytes(32).toString('base64'),
  TESSERA_WEBHOOK_KEY_FILE: randomBytes(32).toString('base64'),
  TESSERA_SMTP_URL_FILE: 'smtps://user:password@smtp.example.com',
  OTEL_EXPORTER_OTLP_HEADERS_FILE: 'authorization=Bearer%20collector',
  TESSERA_RPC_TOKEN_FILE: randomBytes(32).toString('base64'),
};

/** What settings that name folders find there at least. */
const folders: Readonly<Record<string, readonly string[]>> = {
  TESSERA_RPC_TLS_DIR: ['tls.crt', 'tls.key', 'ca.crt'],
  TESSERA_REDIS_TLS_DIR: ['ca.crt'],
};

const filesIn = (name: string, value: string) => folders[name]?.map((file) => `${value}/${file}`) ?? [value];

/** The environment with files that exist and hold what a deployment would put there. */
function withFiles(environment: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(environment).map(([name, value]): [string, string] => {
    if (folders[name] !== undefined) {
      for (const path of filesIn(name, scratch)) writeFileSync(path, '-----BEGIN CERTIFICATE-----');
      return [name, scratch];
    }
    const content = secretValues[name];
    if (content === undefined) return [name, value];
    writeFileSync(join(scratch, name), content);
    return [name, join(scratch, name)];
  });
  return Object.fromEntries(entries);
}

/** Paths that a container finds files at; a star where a Secret is mounted with all its keys. */
function mounted(spec: PodSpec, container: Container): string[] {
  return (container.volumeMounts ?? []).flatMap(({ name, mountPath }) => {
    const volume = spec.volumes?.find((each) => each.name === name);
    if (volume?.secret !== undefined) return [`${mountPath}/*`];
    const items = volume?.projected?.sources.flatMap(
      (source) => (source.secret ?? source.configMap)?.items ?? [],
    );
    return (items ?? []).map(({ path }) => `${mountPath}/${path}`);
  });
}

const pathPattern = (path: string) => new RegExp(`^(${path}|${path.replace(/[^/]+$/, '\\*')})$`);

const environmentPeers = (container: Container) =>
  (container.env ?? []).flatMap(({ name, value }) =>
    name === 'TESSERA_PEERS' ? (value ?? '').split(' ').map((peer) => peer.replace(/^\w+=/, '')) : [],
  );

const componentOf = ({ metadata }: Manifest) => metadata.labels['app.kubernetes.io/component'] ?? '';

/** Every Service of calls is named after the release and its component. */
const calledBy = (address: string) => /([a-z]+)\.id\.svc/.exec(address)?.[1] ?? '';

/** Components of this release at the other end of what a policy allows on the port of calls. */
function edges({ spec }: Manifest, direction: 'ingress' | 'egress'): string[] {
  return (spec[direction] ?? []).flatMap(({ ports = [], from = [], to = [] }) => {
    if (!ports.some(({ port }) => port === 'grpc' || port === 9000)) return [];
    return [...from, ...to].flatMap(
      ({ podSelector }) => podSelector?.matchLabels['app.kubernetes.io/component'] ?? [],
    );
  });
}
