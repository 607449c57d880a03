import type { ClaimObject, ClaimValue } from './user-claims.ts';
import { userInfoClaimNames } from './user-claims.ts';

/**
 * Claims with a meaning in the protocols, for tokens of any issuer; a mapped value in their place would be believed.
 */
const protocolClaims: ReadonlySet<string> = new Set([
  'iss',
  'sub',
  'aud',
  'exp',
  'nbf',
  'iat',
  'jti',
  'client_id',
  'azp',
  'tenant_id',
  'sid',
  'events',
  'typ',
  'scope',
  'scp',
  'role',
  'userinfo_claims',
  'authorization_details',
  'active',
  'token_type',
  'token_use',
  'cnf',
  'act',
  'may_act',
  'auth_time',
  'nonce',
  'acr',
  'amr',
  'at_hash',
  'c_hash',
  's_hash',
  'rt_hash',
  'sub_jwk',
  'vot',
  'vtm',
]);
const standardClaims: ReadonlySet<string> = new Set(userInfoClaimNames);

/** Why an application may not map a claim of this name; undefined if it may. */
export function claimNameProblem(name: string): string | undefined {
  if (!/^[A-Za-z][\x21-\x7e]{0,127}$/.test(name)) {
    return 'must be at most 128 characters of printable ASCII without spaces, the first one a letter';
  }
  if (protocolClaims.has(name) || name.startsWith('urn:openid:')) return 'is a claim of the protocol';
  return standardClaims.has(name) ? 'is a standard claim, which users declare themselves' : undefined;
}

/** A claim that an application maps from its users. */
export interface ClaimMapping {
  readonly name: string;
  /** Name of the user's attribute; empty for the user's roles. */
  readonly attribute: string;
  readonly idToken: boolean;
  readonly accessToken: boolean;
  readonly userinfo: boolean;
}

export interface ClaimSource {
  readonly roles: readonly string[];
  readonly attributes?: Readonly<Record<string, ClaimValue>> | undefined;
}

/**
 * The mapped claims of a user for one target; undefined if there are none. Absent attributes and empty lists are left
 * out.
 */
export function mappedClaims(
  mappings: readonly ClaimMapping[],
  user: ClaimSource,
  target: 'idToken' | 'accessToken' | 'userinfo',
): ClaimObject | undefined {
  if (mappings.length === 0) return undefined;
  const claims: ClaimObject = {};
  for (const mapping of mappings) {
    const value = mapping[target] ? valueOf(mapping.attribute, user) : undefined;
    if (value !== undefined) claims[mapping.name] = value;
  }
  return claims;
}

function valueOf(attribute: string, { roles, attributes = {} }: ClaimSource): ClaimValue | undefined {
  if (attribute === '') return roles.length === 0 ? undefined : [...roles];
  return Object.hasOwn(attributes, attribute) ? attributes[attribute] : undefined;
}
