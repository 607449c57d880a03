import { host } from '../declared-state.ts';
import type { Values } from '../release.ts';

/** The names of the namespaces whose objects are records, but for `own`, which has Tessera. */
export interface NamesOfNamespaces {
  readonly own: string;
  readonly shop: string;
  readonly stock: string;
  readonly elsewhere: string;
}

export interface Surroundings {
  readonly namespaces: NamesOfNamespaces;
  /** What the cluster calls its issuer. */
  readonly clusterIssuer: string;
  /** Which other issuer objects may trust. */
  readonly otherIssuer: string;
  /** Where the issuer's host is for the controller, which asks for access tokens there. */
  readonly entrance: string;
}

/** The controller is an application of the operator, which trusts the service account of the chart. */
const controllerOf = ({ own, ...mapped }: NamesOfNamespaces, issuer: string) => ({
  clientId: 'controller',
  name: 'Controller',
  type: 'confidential',
  grantTypes: ['client_credentials'],
  scopes: ['admin.applications.write', 'admin.resources.write', 'admin.tenants.read'],
  owners: Object.values(mapped).map((namespace) => `k8s:${namespace}/*`),
  trusts: [{ issuer, subject: `system:serviceaccount:${own}:tessera-controller` }],
});

const api = (tenant: string, scope: string) => ({
  audience: `https://${scope}.${tenant}.example`,
  name: scope,
  scopes: [{ name: `${scope}.read`, description: `See ${scope}` }],
  // Any owner of the tenant may give the scope to its applications.
  assignableBy: ['tenant'],
});

/** Tenants in which nobody has a secret but ada, a password. */
export const tenantsWithObjects = (
  { namespaces, clusterIssuer }: Surroundings,
  applications: readonly object[] = [],
) => [
  { id: 'operators', name: 'Operators', applications: [controllerOf(namespaces, clusterIssuer)] },
  {
    id: 'acme',
    name: 'Acme',
    resources: [api('acme', 'goods')],
    users: [{ username: 'ada', email: 'ada@acme.example', name: 'Ada', passwordFromFile: 'ada-password' }],
    applications,
  },
  { id: 'globex', name: 'Globex', resources: [api('globex', 'parts')] },
];

/** Above those of every installation; a test renders the chart with both. */
export function valuesWithObjects(surroundings: Surroundings): Values {
  const { namespaces, clusterIssuer, otherIssuer, entrance } = surroundings;
  const { shop, stock, elsewhere } = namespaces;
  return {
    // Of compact, it is what has TLS for administration.
    introspection: { enabled: true },
    administration: { enabled: true, operatorTenant: 'operators' },
    kubernetesIssuer: { enabled: true, name: clusterIssuer },
    trustedCa: { existingSecret: 'authority' },
    controller: {
      enabled: true,
      namespaces: { [shop]: 'acme', [stock]: 'acme', [elsewhere]: 'globex' },
      trustedIssuers: [otherIssuer],
      pod: { hostAliases: [{ ip: entrance, hostnames: [host] }] },
    },
    // Its keys are at an address of the cluster, and go over http.
    config: { TESSERA_TRUSTED_ISSUER_KEYS: `${otherIssuer}=${otherIssuer.replace('https:', 'http:')}/keys` },
    state: { tenants: tenantsWithObjects(surroundings), secrets: ['people'], allowAdministration: true },
    tests: { clientSecret: '' },
  };
}
