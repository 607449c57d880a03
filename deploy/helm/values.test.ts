import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { chartDirectory, helm, kubeconform, least, manifestsOf, type Values } from './chart.ts';
import { readme, schema } from './generate.ts';

const committed = (name: string) => readFileSync(join(chartDirectory, name), 'utf8');

describe('What is made from other files is up to date: npm run generate:chart', () => {
  test('README.md', () => {
    expect(committed('README.md')).toBe(readme());
  });

  test('values.schema.json', () => {
    expect(committed('values.schema.json')).toBe(schema());
  });
});

test('The schema is whole: it refers to nothing outside of itself', () => {
  const references = [...committed('values.schema.json').matchAll(/"\$ref": "([^"]+)"/g)].map(
    ([, target]) => target,
  );
  expect(references.length).toBeGreaterThan(0);
  expect(references.every((target) => target?.startsWith('#/$defs/'))).toBe(true);
});

test('Every alert has a section in docs/operations.md, and every section an alert', () => {
  const alerts = [...committed('alerts.yaml').matchAll(/alert: (\w+)/g)].map(([, name]) => name);
  const guide = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8');
  expect(alerts.length).toBeGreaterThan(5);
  expect([...guide.matchAll(/^### (Tessera\w+)$/gm)].map(([, name]) => name)).toEqual(alerts);
});

test('The chart shows the icon of the sign-in page', () => {
  const icon = readFileSync(join(import.meta.dirname, '../../libs/pages/views/tessera.svg'));
  expect(committed('Chart.yaml')).toContain(`icon: data:image/svg+xml;base64,${icon.toString('base64')}\n`);
});

test.each(['compact', 'split'])(
  'The values for chart-testing in ci/ render as %s and pass helm lint',
  (topology) => {
    const values = parse(committed(`ci/${topology}-values.yaml`)) as Values;
    expect(helm('lint', [values])).toContain('0 chart(s) failed');
    const text = helm('template', [values]);
    expect(() => kubeconform(text, '1.36.3')).not.toThrow();
    expect(manifestsOf(text).filter(({ kind }) => kind === 'Secret')).toHaveLength(2);
  },
);

test('The chart has the version of the project', () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
    version: string;
  };
  expect(committed('Chart.yaml')).toContain(`appVersion: ${version}\n`);
});

describe('Values are refused', () => {
  test.each([
    ['that are unknown', { gatway: {} }, 'gatway'],
    ['that are unknown, at any depth', { gateway: { autoscaling: { minReplica: 1 } } }, 'minReplica'],
    ['of the wrong type', { gateway: { replicas: 'two' } }, 'replicas'],
    [
      'that are no setting of the server',
      { config: { TESSERA_LIFETIME_CODES: '60s' } },
      'TESSERA_LIFETIME_CODES',
    ],
    [
      'that are a setting which the chart gives itself',
      { config: { TESSERA_ISSUER: 'https://other.example' } },
      'TESSERA_ISSUER',
    ],
    ['that pass a setting by the schema', { extraEnv: [{ name: 'TESSERA_ISSUER', value: 'x' }] }, 'extraEnv'],
    ['that name another topology', { topology: 'cluster' }, 'topology'],
    ['that make introspection public', { publicPaths: { exact: ['/introspect'] } }, 'publicPaths'],
    ['that make revocation public', { publicPaths: { exact: ['/token', '/revoke'] } }, 'publicPaths'],
    [
      'that make introspection at a tenant public',
      { publicPaths: { exact: ['/t/acme/introspect'] } },
      'publicPaths',
    ],
    [
      'that make revocation at a tenant public by a prefix',
      { publicPaths: { prefix: ['/t/'] }, extraHosts: ['id.example.com/t/acme'] },
      'would publish /t/acme/introspect',
    ],
    [
      'that make the check for proxies public by a prefix',
      { publicPaths: { prefix: ['/auth/'] } },
      'would publish /auth/verify',
    ],
    [
      'that make introspection by the paths of Keycloak public',
      { publicPaths: { prefix: ['/protocol/'] } },
      'would publish /protocol/openid-connect/token/introspect',
    ],
    ['with a further host that is a URL', { extraHosts: ['https://id.example.com'] }, 'extraHosts'],
    [
      'with a certificate for a host that is not served',
      { ingress: { tlsSecrets: { 'login.acme.example': 'acme' } } },
      'ingress.tlsSecrets names login.acme.example',
    ],
    ['that take away what is needed', { image: null }, "missing property 'image'"],
    ['that take away a probe', { defaults: { livenessProbe: null } }, "missing property 'livenessProbe'"],
    ['with an issuer that has a path', { issuer: 'https://id.example.com/tessera' }, 'issuer'],
    ['without an issuer', { issuer: '' }, 'issuer is required'],
    ['without a database', { database: {} }, 'database.existingSecret is required'],
    ['without Redis', { redis: {} }, 'redis.existingSecret is required'],
    ['without a secret', { secrets: {} }, 'existingSecret is required'],
    ['without certificates', { rpc: {} }, 'is required without rpc.mtls.certManager.issuerRef.name'],
    ['without the shared token', { rpc: { auth: 'token' } }, 'rpc.token.existingSecret is required'],
    [
      'that open the server to an unnamed proxy',
      { ingress: { enabled: true } },
      'http.trustedProxies is required',
    ],
    [
      'with a route to no Gateway',
      { httpRoute: { enabled: true }, http: { trustedProxies: ['10.0.0.1'] } },
      'parentRefs is required',
    ],
  ])('%s', (_title, values, message) => {
    expect(() => helm('template', [least, values])).toThrow(message);
  });

  test('by a cluster that is too old', () => {
    expect(() => helm('template', [least], '1.29.0')).toThrow('incompatible with Kubernetes');
  });
});
