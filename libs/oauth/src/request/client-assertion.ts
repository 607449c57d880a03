/**
 * Assertions that a client proves with who it is (RFC 7521, RFC 7523): what may be said in one, and what is wrong with
 * it. Signatures are verified elsewhere.
 */

/** `client_assertion_type` by the way of authentication (RFC 7523 §2.2, draft-ietf-oauth-spiffe-client-auth §4). */
export const assertionTypes = {
  private_key_jwt: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  spiffe_jwt: 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe',
} as const;

/** Longest assertion that is read, in bytes. */
export const longestAssertion = 16 * 1024;

/** What assertions may be signed with (JWT-SVID §3, RFC 8725 §3.1): nothing symmetric, and never `none`. */
export const assertionAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
] as const;

/** Seconds that the clock of who signed may differ from ours. */
export const assertionLeeway = 30;

/** Longest time for which an assertion that counts once may be valid: so long its `jti` is kept. */
export const longestOneTimeAssertion = 3_600;

/** Which check an assertion fails, with what its sender may change. For log and audit; clients are told none of it. */
export const assertionRefusals = {
  assertion_malformed: 'It is no signed JWT of at most 16 KiB.',
  assertion_algorithm: `It must be signed with one of ${assertionAlgorithms.join(', ')}.`,
  assertion_header: 'Its header must not name a key (jku, x5u, jwk, x5c) or extensions (crit).',
  assertion_typ: 'Its typ says that it is another kind of token.',
  assertion_id_token:
    'It is an ID token of a person, or a logout token. Send a token that was issued for the workload.',
  assertion_subject: 'It must name the same issuer, subject and client_id as the application.',
  assertion_audience: 'Its only aud must be our issuer, or the audience that the trust declares.',
  assertion_expired: 'It has expired, or has no exp.',
  assertion_early: 'It is not valid yet. Compare the clocks.',
  assertion_too_old: 'It is older than maxAge of the trust, or says no iat.',
  assertion_too_long: 'It is valid for more than an hour. Sign one for each request.',
  assertion_no_jti: 'It needs a jti of at most 256 characters, another one each time.',
  assertion_replayed: 'Its jti was used before. Sign one for each request.',
  assertion_trust: 'No application trusts this issuer and subject for us or for its aud.',
  assertion_spiffe: 'A JWT-SVID has a kid, and a sub in the trust domain that the trust names.',
  assertion_key: 'None of the known keys of its signer fits.',
  assertion_signature: 'Its signature is wrong.',
  assertion_gone: 'Its cluster no longer accepts it: the pod or the service account is gone.',
} as const;

export type AssertionRefusal = keyof typeof assertionRefusals;

export function isAssertionRefusal(name: string): name is AssertionRefusal {
  return Object.hasOwn(assertionRefusals, name);
}

type Json = Readonly<Record<string, unknown>>;

/** A JWT whose signature nobody has verified. */
export interface ReadAssertion {
  readonly header: Json & { readonly alg: string; readonly kid: string | undefined };
  readonly claims: Json;
  /** Empty if it has none. */
  readonly issuer: string;
  readonly subject: string;
}

/** What would let the sender choose the key (RFC 8725 §3.10), and what we do not know (RFC 7515 §4.1.11). */
const refusedHeaders = ['jku', 'jwk', 'x5u', 'x5c', 'crit', 'zip', 'b64'];
/** draft-ietf-oauth-rfc7523bis §4, JWT-SVID §2, and what signs for workloads. An access token is `at+jwt`. */
const acceptedTypes: ReadonlySet<string> = new Set(['jwt', 'jose', 'client-authentication+jwt']);
/** What only ID tokens of people say (OIDC Core §2, §3.3.2.11), or logout tokens (OIDC Back-Channel Logout §2.4). */
const claimsOfIdTokens = ['nonce', 'at_hash', 'c_hash', 's_hash', 'auth_time', 'events'];

/** Reads a JWT without verifying it; or which check it fails. */
export function readAssertion(text: string): ReadAssertion | AssertionRefusal {
  if (Buffer.byteLength(text) > longestAssertion) return 'assertion_malformed';
  const parts = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/.exec(text);
  const header = jsonOf(parts?.[1]);
  const claims = jsonOf(parts?.[2]);
  if (header === undefined || claims === undefined) return 'assertion_malformed';
  const { alg, kid, typ } = header;
  if (typeof alg !== 'string' || !assertionAlgorithms.some((name) => name === alg))
    return 'assertion_algorithm';
  if (refusedHeaders.some((name) => Object.hasOwn(header, name))) return 'assertion_header';
  if (kid !== undefined && typeof kid !== 'string') return 'assertion_malformed';
  if (typ !== undefined && !(typeof typ === 'string' && acceptedTypes.has(typ.toLowerCase())))
    return 'assertion_typ';
  const { iss = '', sub } = claims;
  if (typeof iss !== 'string' || typeof sub !== 'string' || sub === '') return 'assertion_malformed';
  return { header: { ...header, alg, kid }, claims, issuer: iss, subject: sub };
}

/** What an assertion must say besides who it is about. */
export interface Expected {
  readonly audience: string;
  /** Seconds since the Unix epoch. */
  readonly now: number;
  /** Seconds since it was issued; 0: until it expires. */
  readonly maxAge: number;
  /** Whether it counts once: it then needs a `jti`, and one text as its audience (RFC 7523bis, FAPI 2.0 §5.3.2.1). */
  readonly once: boolean;
}

/** Which check of its claims an assertion fails (RFC 7523 §3); undefined if none. */
export function assertionProblem(
  { claims }: Pick<ReadAssertion, 'claims'>,
  { audience, now, maxAge, once }: Expected,
): AssertionRefusal | undefined {
  if (claimsOfIdTokens.some((name) => Object.hasOwn(claims, name))) return 'assertion_id_token';
  // Some servers say there what a token is for: Bearer, ID, Refresh. Nothing that proves a workload says it.
  if (Object.hasOwn(claims, 'typ')) return 'assertion_typ';
  const { aud, exp, nbf, iat, jti } = claims;
  // A token for several could be used by each of them at the others.
  const only = !once && Array.isArray(aud) && aud.length === 1 ? (aud[0] as unknown) : aud;
  if (only !== audience) return 'assertion_audience';
  if (!isTime(exp) || exp + assertionLeeway <= now) return 'assertion_expired';
  for (const from of [nbf, iat])
    if (from !== undefined && (!isTime(from) || from - assertionLeeway > now)) return 'assertion_early';
  if (maxAge > 0 && !(isTime(iat) && now - iat <= maxAge + assertionLeeway)) return 'assertion_too_old';
  if (!once) return undefined;
  if (exp > now + longestOneTimeAssertion + assertionLeeway) return 'assertion_too_long';
  return typeof jti === 'string' && jti !== '' && jti.length <= 256 ? undefined : 'assertion_no_jti';
}

/** Until when a verified assertion is valid, in seconds since the Unix epoch. */
export function assertionEnd({ claims }: Pick<ReadAssertion, 'claims'>, maxAge: number): number {
  const { exp, iat } = claims as { readonly exp: number; readonly iat?: number };
  return Math.min(exp, maxAge > 0 ? (iat ?? 0) + maxAge : Infinity) + assertionLeeway;
}

const spiffeId = /^spiffe:\/\/([a-z0-9._-]{1,255})(\/[A-Za-z0-9._-]+)+$/;

/** The trust domain of a workload's SPIFFE ID, as `spiffe://prod.example`; undefined if it is none (SPIFFE-ID §2). */
export function trustDomainOf(subject: string): string | undefined {
  const domain = subject.length > 2_048 ? undefined : spiffeId.exec(subject)?.[1];
  const isPath = subject
    .split('/')
    .slice(3)
    .every((part) => part !== '.' && part !== '..');
  return domain === undefined || !isPath ? undefined : `spiffe://${domain}`;
}

/** Whether an issuer is a trust domain of SPIFFE. */
export function isTrustDomain(issuer: string): boolean {
  return trustDomainOf(`${issuer}/x`) === issuer;
}

/**
 * Whether a subject is the service account `default` of a namespace of Kubernetes, as it is or as SPIRE writes it: that
 * of every pod that names none.
 */
export function isSharedSubject(subject: string): boolean {
  return (
    /^system:serviceaccount:[^:]+:default$/.test(subject) ||
    /^spiffe:\/\/[^/]+\/ns\/[^/]+\/sa\/default$/.test(subject)
  );
}

/**
 * The parameters with which a client sends a token that proves who it is (RFC 7521 §4.2). SPIFFE IDs have a type of
 * their own (draft-ietf-oauth-spiffe-client-auth §4).
 */
export function assertionParameters(
  assertion: string,
): Readonly<Record<'client_assertion' | 'client_assertion_type', string>> {
  const { sub } = jsonOf(assertion.split('.')[1]) ?? {};
  const isSpiffe = typeof sub === 'string' && trustDomainOf(sub) !== undefined;
  return {
    client_assertion: assertion,
    client_assertion_type: isSpiffe ? assertionTypes.spiffe_jwt : assertionTypes.private_key_jwt,
  };
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function jsonOf(part: string | undefined): Json | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part ?? '', 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}
