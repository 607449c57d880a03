import { acrValues } from '../token/authentication-class.ts';
import { OAuthError } from '../errors.ts';
import { userInfoClaimNames } from '../token/user-claims.ts';

/**
 * What the `claims` parameter of an authorization request asks for (OIDC Core §5.5), as far as this server knows it.
 */
export interface RequestedClaims {
  /** Names of standard claims for the UserInfo response. */
  readonly userinfo: readonly string[];
  /** Names of standard claims for the ID token. */
  readonly idToken: readonly string[];
  /** The only subject that the client accepts; empty for anyone. */
  readonly subject: string;
  /** The classes that an essential `acr` accepts (§5.5.1.1); empty for any. */
  readonly acrValues: readonly string[];
}

export const noRequestedClaims: RequestedClaims = { userinfo: [], idToken: [], subject: '', acrValues: [] };

/** Claims that one member may name. */
const maxClaims = 64;

const releasable: ReadonlySet<string> = new Set(userInfoClaimNames.filter((name) => name !== 'sub'));

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads the `claims` parameter (OIDC Core §5.5). Unknown claims and members are ignored. A claim is returned with its
 * true value whatever `value` or `values` ask for, except `sub`, which names the person that must sign in (§5.5.1), and
 * an essential `acr`, which must be one that this server has (§5.5.1.1). Throws `invalid_request` for a malformed
 * parameter and `access_denied` for an essential `acr` that cannot be met.
 */
export function parseClaimsParameter(text: string | undefined): RequestedClaims {
  if (text === undefined || text === '') return noRequestedClaims;
  const { userinfo, id_token: idToken } = objectOf(parse(text));
  const members = [claimsOf(userinfo), claimsOf(idToken)] as const;
  const acceptedAcr = acceptedAcrOf(members[1].get('acr'));
  const subjects = new Set(members.flatMap((claims) => subjectOf(claims.get('sub'))));
  if (subjects.size > 1) throw malformed();
  const [subject = ''] = subjects;
  const names = (claims: ReadonlyMap<string, Json>) =>
    [...claims.keys()].filter((name) => releasable.has(name));
  return { userinfo: names(members[0]), idToken: names(members[1]), subject, acrValues: acceptedAcr };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed();
  }
}

function objectOf(value: unknown): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed();
  return value as Json;
}

/** The claims of `userinfo` or `id_token`, each with what is asked of it; null asks for nothing in particular. */
function claimsOf(member: unknown): ReadonlyMap<string, Json> {
  if (member === undefined || member === null) return new Map();
  const entries = Object.entries(objectOf(member));
  if (entries.length > maxClaims) throw malformed();
  return new Map(entries.map(([name, request]) => [name, checkedRequest(request)]));
}

function checkedRequest(request: unknown): Json {
  if (request === null) return {};
  const checked = objectOf(request);
  const { essential, values } = checked;
  if (essential !== undefined && typeof essential !== 'boolean') throw malformed();
  if (values !== undefined && !Array.isArray(values)) throw malformed();
  return checked;
}

/** The values of `value` or `values`; empty if the request has neither. */
function valuesOf({ value, values }: Json): readonly unknown[] {
  if (value !== undefined) return [value];
  return Array.isArray(values) ? values : [];
}

function subjectOf(request: Json | undefined): string[] {
  if (request === undefined) return [];
  return valuesOf(request).map((value) => {
    if (typeof value !== 'string' || value === '') throw malformed();
    return value;
  });
}

function acceptedAcrOf(request: Json | undefined): readonly string[] {
  if (request?.['essential'] !== true) return [];
  const asked = valuesOf(request);
  const accepted = acrValues.filter((value) => asked.includes(value));
  if (asked.length === 0 || accepted.length > 0) return accepted;
  throw new OAuthError('access_denied', 'The required authentication class (acr) is not supported.');
}

function malformed(): OAuthError {
  return new OAuthError(
    'invalid_request',
    'The claims parameter must be a JSON object with the members userinfo and id_token (OpenID Connect Core, section 5.5).',
  );
}
