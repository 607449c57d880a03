import { hash, verify, type KeyObject } from 'node:crypto';
import { boundedCache } from '@tessera/kit';
import type { CallOptions } from '@tessera/rpc';
import { type Kit } from '@tessera/process';
import { accessTokenType, idTokenType, type AccessTokenClaims } from '@tessera/oauth';
import type { VerificationKeys } from './verification-keys.ts';

/**
 * Accepts JSON Web Tokens of ours and nothing else (RFC 8725 §3). What is accepted is pinned: three parts in canonical
 * base64url, header members `alg`, `kid`, `typ` and no other, RS256, a key of ours, the exact type.
 */
export interface TokenVerifier {
  /**
   * The claims of a live access token (RFC 9068 §4); undefined for whatever else.
   * Which issuer is acceptable is the caller's to check. Throws only when the keys are needed and out of reach.
   * A token that was seen before is known at once.
   * @param onward asked for the options of a call to `keys`, where one is made
   */
  accessToken(
    token: string,
    onward: () => CallOptions,
  ): AccessTokenClaims | undefined | Promise<AccessTokenClaims | undefined>;
  /** The claims of an ID token as issued, expired or not (OIDC RP-Initiated Logout §2). */
  idToken(token: string, onward: () => CallOptions): Promise<IdTokenHint | undefined>;
}

/** The members of an ID token that a hint is used for. */
export interface IdTokenHint {
  readonly iss: string;
  readonly sub: string;
  /** The client it was issued to. */
  readonly aud: string;
  /** Empty when the token has none. */
  readonly sid: string;
}

/** Far above any token of ours; bounds the work spent on what is not. */
const longestToken = 16 * 1024;
const cachedTokens = 10_000;
/** Seconds a clock of ours may be ahead of another (FAPI 2.0 Security Profile §5.3.2.1). */
const clockSkew = 10;

interface Verified {
  readonly kid: string;
  readonly claims: AccessTokenClaims;
}

export function createTokenVerifier(keys: VerificationKeys, kit: Pick<Kit, 'clock'>): TokenVerifier {
  const verified = boundedCache<Verified>(cachedTokens);
  const seconds = () => kit.clock.now() / 1000;

  async function verifyAccessToken(
    token: string,
    digest: string,
    onward: () => CallOptions,
  ): Promise<AccessTokenClaims | undefined> {
    const read = await readToken(token, accessTokenType, keys, onward);
    if (read === undefined || !isAccessTokenClaims(read.claims)) return undefined;
    if (!isLive(read.claims, seconds())) return undefined;
    verified.set(digest, { kid: read.kid, claims: read.claims });
    return read.claims;
  }

  return {
    accessToken(token, onward) {
      if (token.length > longestToken) return undefined;
      const digest = hash('sha256', token, 'base64');
      const cached = verified.get(digest);
      // A key that was withdrawn takes the tokens it signed with it.
      if (cached === undefined || !keys.has(cached.kid)) return verifyAccessToken(token, digest, onward);
      return isLive(cached.claims, seconds()) ? cached.claims : undefined;
    },
    async idToken(token, onward) {
      if (token.length > longestToken) return undefined;
      const claims = (await readToken(token, idTokenType, keys, onward))?.claims;
      if (!isRecord(claims)) return undefined;
      const { iss, sub, aud, iat, sid = '' } = claims;
      if (!isText(iss) || !isText(sub) || !isText(aud) || typeof sid !== 'string') return undefined;
      return isTime(iat) && iat <= seconds() + clockSkew ? { iss, sub, aud, sid } : undefined;
    },
  };
}

/** Checks form, header and signature; the payload is only parsed once the signature is known to be ours. */
async function readToken(
  token: string,
  type: string,
  keys: VerificationKeys,
  onward: () => CallOptions,
): Promise<{ kid: string; claims: unknown } | undefined> {
  const parts = token.split('.', 4);
  const [header, payload, signature] = parts.map(decodeCanonical);
  if (parts.length !== 3 || header === undefined || payload === undefined || signature === undefined)
    return undefined;
  const kid = keyIdentifier(parseJson(header), type);
  if (kid === undefined) return undefined;
  const key = await keys.find(kid, onward);
  if (key === undefined) return undefined;
  const signed = Buffer.from(token.slice(0, token.lastIndexOf('.')), 'ascii');
  return isSignedBy(key, signed, signature) ? { kid, claims: parseJson(payload) } : undefined;
}

/** RS256 (RFC 7518 §3.3): RSASSA-PKCS1-v1_5 with SHA-256, whatever the header may say. */
function isSignedBy(key: KeyObject, signed: Buffer, signature: Buffer): boolean {
  return verify('sha256', signed, key, signature);
}

const kidShape = /^[A-Za-z0-9_-]{1,128}$/;
const headerMembers: ReadonlySet<string> = new Set(['alg', 'kid', 'typ']);

/** The `kid` of a header that is one of ours for this type; undefined for every other header. */
function keyIdentifier(header: unknown, type: string): string | undefined {
  if (!isRecord(header) || !Object.keys(header).every((member) => headerMembers.has(member)))
    return undefined;
  const { alg, kid, typ } = header;
  return alg === 'RS256' && typ === type && typeof kid === 'string' && kidShape.test(kid) ? kid : undefined;
}

function isAccessTokenClaims(claims: unknown): claims is AccessTokenClaims {
  if (!isRecord(claims)) return false;
  const { iss, aud, sub, client_id: clientId, jti, tenant_id: tenantId, scope, role, exp, iat, nbf } = claims;
  if (!isText(iss) || !isText(aud) || !isText(sub)) return false;
  if (!isText(clientId) || !isText(jti) || !isText(tenantId)) return false;
  if (!isTextList(scope) || !isTextList(role)) return false;
  return isTime(exp) && isTime(iat) && (nbf === undefined || isTime(nbf));
}

function isLive(claims: AccessTokenClaims & { readonly nbf?: number }, now: number): boolean {
  return now < claims.exp && claims.iat <= now + clockSkew && (claims.nbf ?? 0) <= now + clockSkew;
}

/** Node's decoder skips what it does not know and ignores trailing bits: only the one spelling of the bytes is accepted. */
function decodeCanonical(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, 'base64url');
  return part !== '' && bytes.toString('base64url') === part ? bytes : undefined;
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText);
}

/** NumericDate (RFC 7519 §2), whole seconds. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
