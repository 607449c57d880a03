import { describe, expect, test } from 'vitest';
import { helm, kubeconform, least, render, type Values } from './chart.ts';

const administered: Values = {
  ...least,
  administration: { enabled: true, operatorTenant: 'acme' },
  kubernetesIssuer: { enabled: true },
  networkPolicy: { enabled: true },
};
const enabled = { enabled: true, namespaces: { shop: 'acme', stock: 'globex' } };
const withController = (controller: object = {}, more: Values = {}) =>
  render(administered, { ...more, controller: { ...enabled, ...controller } });

describe('The controller of objects', () => {
  test('and the definitions are there only where they are wanted', () => {
    const mentions = (manifests: unknown) => JSON.stringify(manifests).includes('tessera.dev');
    expect(mentions(render(administered))).toBe(false);
    const definitions = (controller: object) =>
      withController(controller).filter(({ kind }) => kind === 'CustomResourceDefinition');
    expect(definitions({}).map(({ metadata }) => metadata.name)).toEqual([
      'tesseraapplications.tessera.dev',
      'tesseraresources.tessera.dev',
    ]);
    for (const { metadata } of definitions({}))
      expect(metadata.annotations).toMatchObject({ 'helm.sh/resource-policy': 'keep' });
    expect(definitions({ customResources: false })).toEqual([]);
  });

  test('may do nothing with Secrets, and nothing with objects of other kinds', () => {
    const roles = withController().filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role');
    const rules = roles.flatMap((role) => (role as unknown as { rules: { resources: string[] }[] }).rules);
    expect(new Set(rules.flatMap(({ resources }) => resources))).toEqual(
      new Set([
        'tesseraapplications',
        'tesseraresources',
        'tesseraapplications/status',
        'tesseraresources/status',
        'events',
      ]),
    );
    expect(JSON.stringify(rules)).not.toContain('*');
  });

  test.each([
    ['split', 'admin'],
    ['compact', 'standalone'],
  ])('in %s calls %s as its own service account, without a secret', (topology, front) => {
    const manifests = withController({}, { topology, introspection: { enabled: true } });
    const named = (kind: string, name: string) =>
      manifests.find((each) => each.kind === kind && each.metadata.name === name);
    const pod = named('Deployment', 'release-tessera-controller')?.spec.template?.spec;
    expect(pod).toMatchObject({ serviceAccountName: 'release-tessera-controller' });
    expect(pod?.containers[0]?.args).toEqual(['controller']);
    expect(pod?.containers[0]?.env).toEqual(
      expect.arrayContaining([
        { name: 'TESSERA_API', value: 'https://release-tessera-administration.id.svc:9002' },
        { name: 'TESSERA_CLIENT_ASSERTION_FILE', value: '/run/tessera/identity/token' },
        { name: 'TESSERA_CONTROLLER_NAMESPACES', value: 'shop=acme,stock=globex' },
      ]),
    );
    // Of the certificate of administration, no key.
    expect(JSON.stringify(pod?.volumes)).not.toMatch(/tls\.key|database|directoryPepper/);
    const policyOf = (name: string) =>
      JSON.stringify(named('NetworkPolicy', `release-tessera-${name}`)?.spec);
    expect(policyOf('controller')).toContain(`"${front}"`);
    expect(policyOf(front)).toContain('"controller"');
  });

  test('fits the schemas of Kubernetes', () => {
    const values = [administered, { controller: enabled }];
    const text = helm('template', values).replaceAll(
      /^---\n(?:#.*\n)?apiVersion: apiextensions[^]*?(?=^---$)/gm,
      '',
    );
    expect(() => kubeconform(text, '1.36.3')).not.toThrow();
  });

  test('is refused without TLS for its calls, or without trust in the cluster', () => {
    expect(() => withController({}, { administration: { enabled: false } })).toThrow(/needs administration/);
    expect(() => withController({}, { kubernetesIssuer: { enabled: false } })).toThrow(
      /needs kubernetesIssuer/,
    );
    expect(() => withController({ namespaces: { Shop: 'acme' } })).toThrow(/Shop/);
  });
});
