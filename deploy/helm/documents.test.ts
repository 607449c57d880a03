import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { kubeconform, least, podsOf, render, type Values } from './chart.ts';

const documentOf = (name: string) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8');

/** The block of YAML in a document that has a text in it. */
function block(document: string, having: string): string {
  const blocks = [...document.matchAll(/^```yaml\n([^]*?)^```$/gm)].map(([, content = '']) => content);
  return blocks.find((content) => content.includes(having)) ?? '';
}

describe('What docs/operations.md has people apply', () => {
  const guide = documentOf('operations.md');
  const [, file = ''] = /kubectl apply --filename (\S+)/.exec(guide) ?? [];
  const authority = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
  const values = parse(block(guide, 'existingSecret')) as Values;
  const manifests = render(values);
  const certificates = manifests.filter(({ kind }) => kind === 'Certificate');

  test('is an authority that cert-manager takes, and the issuer of the values', () => {
    expect(() => kubeconform(authority, '1.36.3')).not.toThrow();
    const secrets = [...authority.matchAll(/secretName: ([\w-]+)/g)].map(([, name]) => name);
    expect(secrets).toEqual(['tessera-internal-ca', 'tessera-internal-ca']);
    expect(certificates.length).toBeGreaterThan(0);
    for (const { spec } of certificates)
      expect(authority).toContain(`name: ${spec.issuerRef?.name}, namespace: tessera`);
  });

  test('is the profile that leaves nothing open, for every process', () => {
    const profiles = podsOf(manifests).flatMap(({ pod }) =>
      (pod.spec.containers ?? []).flatMap(({ env }) =>
        (env ?? []).filter(({ name }) => name === 'TESSERA_PROFILE').map(({ value }) => value),
      ),
    );
    expect(profiles.length).toBeGreaterThan(0);
    expect(new Set(profiles)).toEqual(new Set(['strict']));
  });

  test('makes every Secret that the pods of these values mount', () => {
    const made = [
      ...[...guide.matchAll(/create secret generic ([\w-]+)/g)].map(([, name]) => name),
      ...certificates.map(({ spec }) => spec.secretName),
    ];
    const mounted = podsOf(manifests).flatMap(({ pod }) =>
      (pod.spec.volumes ?? []).flatMap(({ secret, projected }) => [
        secret?.secretName,
        ...(projected?.sources ?? []).map((source) => source.secret?.name),
      ]),
    );
    const needed = new Set(mounted.filter((name) => name !== undefined));
    expect(needed.size).toBeGreaterThan(4);
    expect([...needed].filter((name) => !made.includes(name))).toEqual([]);
  });
});

describe('What docs/try-on-a-cluster.md has people apply', () => {
  const guide = documentOf('try-on-a-cluster.md');
  const values = parse(block(guide, 'throwAwayStores')) as Values;
  const manifests = render({ ...values, fullnameOverride: 'tessera' });

  test('makes the Secret and the ConfigMap that the pods of its values mount, with their keys', () => {
    const sources = podsOf(manifests).flatMap(({ pod }) =>
      (pod.spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []),
    );
    const keysOf = (name: string) =>
      sources
        .flatMap(({ secret, configMap }) => [secret, configMap])
        .filter((source) => source?.name === name)
        .flatMap((source) => (source?.items ?? []).map(({ key }) => key));
    expect(new Set(keysOf('tessera-secrets'))).toEqual(
      new Set([...guide.matchAll(/--from-literal=([\w-]+)=/g)].map(([, key]) => key)),
    );
    expect(JSON.stringify(manifests)).toContain('"name":"tessera-demo"');
    expect(guide).toContain(
      'create configmap tessera-demo --from-file=tessera.yaml=deploy/demo/tessera.yaml',
    );
  });

  test('waits for the Job of the chart, and forwards the port of its issuer to its Service', () => {
    const [, selector = ''] = /job --selector app\.kubernetes\.io\/component=(\w+)/.exec(guide) ?? [];
    const jobs = manifests.filter(({ kind }) => kind === 'Job');
    expect(jobs.map(({ metadata }) => metadata.labels['app.kubernetes.io/component'])).toContain(selector);
    const [, name = '', local = '', port = ''] =
      /port-forward service\/([\w-]+) (\d+):(\d+)/.exec(guide) ?? [];
    const service = manifests.find(({ kind, metadata }) => kind === 'Service' && metadata.name === name);
    expect(service?.spec.ports?.map((each) => String(each.port))).toContain(port);
    expect(values).toMatchObject({ issuer: `http://localhost:${local}` });
  });
});

describe('docs/first-half-hour.md', () => {
  const guide = documentOf('first-half-hour.md');
  const values: Values = {
    ...(parse(block(documentOf('try-on-a-cluster.md'), 'throwAwayStores')) as Values),
    administration: { enabled: true, operatorTenant: 'operators' },
  };
  const split = {
    topology: 'split',
    rpc: {
      mtls: {
        trustDomain: 'tessera.tessera.svc.cluster.local',
        certManager: { issuerRef: { name: 'internal' } },
      },
    },
  };

  test('names Services and Deployments of the chart, compact in its commands and split beside them', () => {
    const namesIn = (text: string) =>
      new Set([...text.matchAll(/(?:service|deploy)\/tessera-[\w-]+/g)].map(([name]) => name));
    const madeOf = (given: Values) =>
      new Set(
        render({ ...given, fullnameOverride: 'tessera' }).map(
          ({ kind, metadata }) => `${kind === 'Deployment' ? 'deploy' : kind.toLowerCase()}/${metadata.name}`,
        ),
      );
    const commands = [...guide.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, lines = '']) => lines).join('');
    const typed = namesIn(commands);
    const compact = madeOf(values);
    expect(typed.size).toBe(3);
    expect([...typed].filter((name) => !compact.has(name))).toEqual([]);
    const inSplit = [...namesIn(guide)].filter((name) => !typed.has(name));
    expect(inSplit).toEqual(['service/tessera-gateway', 'deploy/tessera-directory']);
    const made = madeOf({ ...values, ...split });
    expect(inSplit.filter((name) => !made.has(name))).toEqual([]);
  });

  test('has the commands that the notes of the release show', () => {
    const template = readFileSync(join(import.meta.dirname, 'tessera/templates/NOTES.txt'), 'utf8');
    const notes = template
      .replaceAll('{{ $administration }}', 'tessera-administration')
      .replaceAll('{{ .Release.Namespace }}', 'tessera')
      .replaceAll('{{ .Values.issuer }}', String(values['issuer']));
    for (const command of [
      ' -- node /app/deploy/image/start.ts tessera bootstrap --direct\n',
      'kubectl -n tessera port-forward service/tessera-administration 9002',
      'tessera login --issuer http://localhost:8080',
      '--api https://127.0.0.1:9002 --ca-file ca.pem --server-name tessera-administration.tessera.svc',
    ]) {
      expect(guide).toContain(command);
      expect(notes).toContain(command);
    }
  });
});

test('docs/introspection.md asks at a Service of the chart, by a name that stands in its certificate', () => {
  const guide = documentOf('introspection.md');
  const [, service = '', port] = /target: '([\w-]+)\.tessera\.svc:(\d+)'/.exec(guide) ?? [];
  const values = parse(block(guide, 'introspectionFrom')) as Values;
  const manifests = render({ ...least, ...values, fullnameOverride: 'tessera' });
  const found = manifests.find(({ kind, metadata }) => kind === 'Service' && metadata.name === service);
  expect(found?.spec.ports?.map((each) => String(each.port))).toEqual([port]);
  const names = manifests.flatMap(({ spec }) => spec?.dnsNames ?? []);
  expect(names).toContain(`${service}.id.svc`);
});
