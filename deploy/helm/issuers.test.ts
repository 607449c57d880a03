import { describe, expect, test } from 'vitest';
import { least, render, valueSets, type Values } from './chart.ts';
import type { Manifest } from './manifest.ts';
import { renderInCluster } from './cluster.ts';
import { closedPaths, publicKeycloakPaths, publicPaths } from './public-paths.ts';

/** A path that is published, as `https://host/path`. */
type Published = ReadonlyMap<string, 'Exact' | 'Prefix' | 'PathPrefix'>;

function publishedBy({ spec }: Manifest): Published {
  const entries = (spec.rules ?? []).flatMap(({ host, http, matches = [] }) => {
    const hosts = host === undefined ? (spec.hostnames ?? []) : [host];
    const paths = [
      ...(http?.paths ?? []).map(({ path, pathType }) => ({ path, type: pathType })),
      ...matches.map((match) => ({ path: match.path?.value ?? '', type: match.path?.type ?? '' })),
    ];
    return hosts.flatMap((each) => paths.map(({ path, type }) => [`https://${each}${path}`, type] as const));
  });
  return new Map(entries) as Published;
}

/** What the Ingress publishes, and what the HTTPRoutes publish together. */
function published(manifests: readonly Manifest[]): Published[] {
  const ofKind = (wanted: string) => manifests.filter(({ kind }) => kind === wanted).map(publishedBy);
  const routesOf = ofKind('HTTPRoute').flatMap((each) => [...each]);
  return [...ofKind('Ingress'), ...(routesOf.length === 0 ? [] : [new Map(routesOf)])];
}

const metadata = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'];

/** Every public address of these issuers, and no other. */
function addressesOf(issuers: readonly string[]): string[] {
  const all = issuers.flatMap((issuer) => {
    const { origin, pathname } = new URL(issuer);
    const inserted = pathname === '/' ? [] : metadata.map((path) => origin + path + pathname);
    return [...publicPaths().map((path) => issuer + path), ...inserted];
  });
  return [...new Set(all)].toSorted();
}

const at = {
  shared: 'https://id.example.com',
  path: 'https://id.example.com/t/beta',
  host: 'https://login.gamma.example',
};
const front: Values = {
  ...least,
  http: { trustedProxies: ['10.0.0.1'] },
  ingress: { enabled: true, tlsSecret: 'id-tls' },
  httpRoute: { enabled: true, parentRefs: [{ name: 'public' }] },
};
const tenants = [
  { id: 'acme', name: 'Acme' },
  { id: 'beta', name: 'Beta', issuer: at.path },
  { id: 'gamma', name: 'Gamma', issuer: `${at.host}:8443` },
];

describe('The public reaches every path of the gateway but introspection, revocation and what is not for it', () => {
  const addresses = (values: Values) =>
    published(render({ ...front, ...values })).map((each) => [...each.keys()].toSorted());

  test('at the shared issuer', () => {
    expect(addresses({})).toEqual([addressesOf([at.shared]), addressesOf([at.shared])]);
  });

  test('at the issuer of each tenant that has one, a path or a host', () => {
    const expected = addressesOf(Object.values(at));
    expect(addresses({ state: { tenants } })).toEqual([expected, expected]);
  });

  test('at the hosts of `extraHosts`', () => {
    const expected = addressesOf(Object.values(at));
    const extraHosts = ['login.gamma.example', 'id.example.com/t/beta', 'id.example.com'];
    expect(addresses({ extraHosts })).toEqual([expected, expected]);
  });

  test('at the paths of Keycloak, below the issuers of tenants that have them and of such a path, and no other', () => {
    const harbour = 'https://id.example.com/realms/harbour';
    const likeKeycloak = (issuer: string) => ['', ...publicKeycloakPaths()].map((path) => issuer + path);
    const declared = [
      ...tenants,
      { id: 'harbour', name: 'Harbour', issuer: harbour, endpoints: 'keycloak' },
      { id: 'delta', name: 'Delta', issuer: 'https://delta.example', endpoints: 'standard' },
    ];
    const issuers = [...Object.values(at), harbour, 'https://delta.example'];
    const expected = [...addressesOf(issuers), ...likeKeycloak(harbour)].toSorted();
    expect(addresses({ state: { tenants: declared } })).toEqual([expected, expected]);
    const undeclared = [...addressesOf([at.shared, harbour]), ...likeKeycloak(harbour)].toSorted();
    expect(addresses({ extraHosts: ['id.example.com/realms/harbour'] })).toEqual([undeclared, undeclared]);
  });

  test('at the issuers that the ConfigMap of the declared state names, as far as Helm may read it', async () => {
    const data = { 'tessera.yaml': JSON.stringify({ tenants }) };
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'tenants', uid: 'one' },
      data,
    } as const;
    const state = { existingConfigMap: 'tenants' };
    const found = async (values: Values) =>
      published(await renderInCluster({ ...front, ...values }, [map])).map((each) => each.size);
    expect(await found({ state })).toEqual([1, 1].map(() => addressesOf(Object.values(at)).length));
    expect(await found({ state: { ...state, checksum: false } })).toEqual(
      [1, 1].map(() => addressesOf([at.shared]).length),
    );
  });

  test.each(valueSets)('with $name: each path is exact but that of the assets', ({ values }) => {
    for (const each of published(render(values))) {
      for (const [address, type] of each) {
        expect(type === 'Exact', address).toBe(!address.endsWith('/'));
        expect(
          closedPaths.some((path) => address.endsWith(path)),
          address,
        ).toBe(false);
      }
    }
  });
});

test('Hosts have the certificate of `tlsSecret`, or one of their own', () => {
  const tlsOf = (ingress: Values) =>
    render({ ...front, state: { tenants }, ingress: { enabled: true, ...ingress } }).find(
      ({ kind }) => kind === 'Ingress',
    )?.spec.tls;
  const hosts = ['id.example.com', 'login.gamma.example'];
  expect(tlsOf({ tlsSecret: 'tls' })).toEqual([{ hosts, secretName: 'tls' }]);
  expect(tlsOf({ tlsSecret: 'tls', tlsSecrets: { 'login.gamma.example': 'gamma' } })).toEqual([
    { hosts: ['login.gamma.example'], secretName: 'gamma' },
    { hosts: ['id.example.com'], secretName: 'tls' },
  ]);
  expect(tlsOf({})).toBeUndefined();
});

test('A rule of an HTTPRoute takes eight matches, a route sixteen rules', () => {
  const many = Array.from({ length: 40 }, (_, index) => `id.example.com/t/${index}`);
  const found = render({ ...front, extraHosts: many }).filter(({ kind }) => kind === 'HTTPRoute');
  expect(found).toHaveLength(41);
  expect(new Set(found.map(({ metadata: { name } }) => name)).size).toBe(41);
  for (const { spec } of found) {
    expect(spec.rules?.length).toBeLessThanOrEqual(16);
    for (const { matches } of spec.rules ?? []) expect(matches?.length).toBeLessThanOrEqual(8);
  }
});
