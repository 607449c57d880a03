import type { Declaration } from '../administration/administration-api.ts';
import { fieldsOfNoObject, type Spec, type TesseraObject, type Trust } from '../objects.ts';

/** What decides about a record besides its object: the operator, and the cluster. */
export interface Surroundings {
  /** Of the cluster among several; undefined for the only one. */
  readonly cluster: string | undefined;
  /** What the cluster calls its issuer. */
  readonly clusterIssuer: string;
  /** What else objects may trust. */
  readonly trustedIssuers: readonly string[];
}

/** The object asks for what no object of its namespace gets. The message says what, by the fields of the object. */
export class NotOfThisNamespace extends Error {
  override readonly name = 'NotOfThisNamespace';
}

/** By which the owners of all objects of a namespace begin. */
const ownersOf = (namespace: string, cluster: string | undefined): string =>
  `k8s:${cluster === undefined ? '' : `${cluster}:`}${namespace}/`;

/** Whose the record of an object is: never what the object says. */
export function ownerOf(
  { metadata: { namespace, name } }: TesseraObject,
  cluster: string | undefined,
): string {
  return `${ownersOf(namespace, cluster)}${name}`;
}

/** The client identifier of an application: its own, or one that follows from where it is. */
export function clientIdOf({ spec, metadata: { namespace, name } }: TesseraObject): string {
  return spec.clientId ?? `${namespace}.${name}`;
}

/**
 * The record that an object declares.
 * @throws NotOfThisNamespace
 */
export function declarationOf(
  object: TesseraObject,
  tenantId: string,
  { cluster, clusterIssuer, trustedIssuers }: Surroundings,
): Declaration & { readonly record: object } {
  const { kind, spec, metadata } = object;
  const refused = fieldsOfNoObject[kind].filter((field) => Object.hasOwn(spec, field));
  if (refused.length > 0) throw new NotOfThisNamespace(`spec.${refused.join(', spec.')}: is not for objects`);
  const own = { kind, tenantId, owner: ownerOf(object, cluster) };
  if (kind === 'TesseraResource') {
    const assignableBy = [`${ownersOf(metadata.namespace, cluster)}*`];
    return { ...own, record: { assignableBy, ...spec } };
  }
  const trusts = spec.trusts?.map((trust, index) =>
    trustOf(trust, `spec.trusts[${index}]`, { namespace: metadata.namespace, clusterIssuer, trustedIssuers }),
  );
  return { ...own, record: { ...spec, clientId: clientIdOf(object), ...(trusts && { trusts }) } };
}

function trustOf(
  { serviceAccount, ...trust }: Trust,
  field: string,
  {
    namespace,
    clusterIssuer,
    trustedIssuers,
  }: { readonly namespace: string } & Omit<Surroundings, 'cluster'>,
): NonNullable<Spec['trusts']>[number] {
  const ofNamespace = `system:serviceaccount:${namespace}:`;
  if (serviceAccount !== undefined)
    return { ...trust, issuer: clusterIssuer, subject: `${ofNamespace}${serviceAccount}` };
  const { issuer = '', subject = '' } = trust;
  if (issuer === clusterIssuer) {
    if (subject.startsWith(ofNamespace)) return trust;
    throw new NotOfThisNamespace(`${field}.subject: is no service account of the namespace ${namespace}`);
  }
  if (trustedIssuers.includes(issuer)) return trust;
  throw new NotOfThisNamespace(
    `${field}.issuer: is none that the operator lets objects trust (TESSERA_CONTROLLER_TRUSTED_ISSUERS)`,
  );
}
