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

/** What the values of a mapped claim are. */
export const claimTypes = ['text', 'number', 'boolean', 'json'] as const;
/** Whether a mapped claim is a list although it has one value, or one value although there are several. */
export const claimLists = ['always', 'first'] as const;

/** Why two mapped claims, by their paths, cannot stand in one token; undefined if they can. */
export function claimPathsProblem(one: readonly string[], other: readonly string[]): string | undefined {
  const shorter = one.length < other.length ? one : other;
  return shorter.every((name, at) => name === one[at] && name === other[at])
    ? 'has the path of another claim, or one above or below it'
    : undefined;
}

/** A claim that an application maps from its users. */
export interface ClaimMapping {
  readonly name: string;
  /** Name of the user's attribute; empty for the user's roles. */
  readonly attribute: string;
  /** The names of the objects down to the claim; empty: the name of the claim. */
  readonly path: readonly string[];
  /** One of `claimTypes`; anything else is text. */
  readonly type: string;
  /** One of `claimLists`; empty: as the attribute is. */
  readonly list: string;
  /** Of roles those that begin so, without this beginning; empty: all. */
  readonly rolePrefix: string;
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
 * @param namesNoRoles whether all roles of somebody without any are an empty list, which applications that were made
 * for Keycloak read without asking whether it is there
 */
export function mappedClaims(
  mappings: readonly ClaimMapping[],
  user: ClaimSource,
  target: 'idToken' | 'accessToken' | 'userinfo',
  namesNoRoles = false,
): ClaimObject | undefined {
  if (mappings.length === 0) return undefined;
  const claims: ClaimObject = {};
  for (const mapping of mappings) {
    const value = mapping[target] ? valueOf(mapping, user, namesNoRoles) : undefined;
    if (value !== undefined) put(claims, mapping.path.length === 0 ? [mapping.name] : mapping.path, value);
  }
  return claims;
}

/** Objects without a prototype: a name such as `__proto__` is a name. */
function put(claims: ClaimObject, path: readonly string[], value: ClaimValue): void {
  const [name = '', ...below] = path;
  if (below.length === 0) {
    claims[name] = value;
    return;
  }
  const present = Object.hasOwn(claims, name) ? claims[name] : undefined;
  const inner: ClaimObject = isObject(present) ? present : (Object.create(null) as ClaimObject);
  claims[name] = inner;
  put(inner, below, value);
}

function isObject(value: ClaimValue | undefined): value is ClaimObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function valueOf(
  mapping: ClaimMapping,
  { roles, attributes = {} }: ClaimSource,
  namesNoRoles: boolean,
): ClaimValue | undefined {
  const { attribute, rolePrefix } = mapping;
  if (attribute !== '')
    return Object.hasOwn(attributes, attribute) ? typed(attributes[attribute], mapping) : undefined;
  const named = roles.filter((role) => role.startsWith(rolePrefix));
  const isAbsent = named.length === 0 && !(namesNoRoles && rolePrefix === '');
  return isAbsent ? undefined : named.map((role) => role.slice(rolePrefix.length));
}

/** Undefined if no value is of the type. */
function typed(
  given: ClaimValue | undefined,
  { type, list }: Pick<ClaimMapping, 'type' | 'list'>,
): ClaimValue | undefined {
  const all = Array.isArray(given) ? given : given === undefined ? [] : [given];
  const values = all.flatMap((value) =>
    valuesOfType(typeof value === 'string' ? value : JSON.stringify(value), type),
  );
  if (values.length === 0) return undefined;
  const isList = list === 'always' || (list === '' && Array.isArray(given));
  return isList ? values : values[0];
}

/** The value that a text says, or none. */
function valuesOfType(text: string, type: string): ClaimValue[] {
  switch (type) {
    case 'number': {
      const number = text.trim() === '' ? Number.NaN : Number(text);
      return Number.isFinite(number) ? [number] : [];
    }
    case 'boolean':
      return text === 'true' || text === 'false' ? [text === 'true'] : [];
    case 'json':
      try {
        const value = JSON.parse(text) as ClaimValue;
        return isSound(value) ? [value] : [];
      } catch {
        return [];
      }
    default:
      return [text];
  }
}

/** Deeper ones, and numbers that JSON cannot write, no message carries to `/userinfo`. */
const deepest = 16;

function isSound(value: ClaimValue, depth = 0): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  return depth < deepest && Object.values(value).every((each) => isSound(each, depth + 1));
}
