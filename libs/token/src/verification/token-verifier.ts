import { hash } from 'node:crypto';
import { boundedCache } from '@tessera/kit';
import type { CallOptions } from '@tessera/rpc';
import { type Runtime } from '@tessera/process';
import {
  accessTokenTypes,
  idTokenType,
  keycloakAccessTokenTyp,
  keycloakIdTokenTyp,
  largeToken,
  longestToken,
  signingAlgorithmNames,
  type AccessTokenClaims,
  type SigningAlgorithmName,
} from '@tessera/oauth';
import type { CompactJWSHeaderParameters, CryptoKey } from 'jose';
import * as errors from 'jose/errors';
import { compactVerify } from 'jose/jws/compact/verify';
import { decodeJwt } from 'jose/jwt/decode';
import { z } from 'zod';
import type { RevokedAccessTokens } from './revoked-access-tokens.ts';
import type { VerificationKeys } from './verification-keys.ts';

/**
 * Accepts only JSON Web Tokens issued by this server (RFC 8725 §3). `jose` checks form and signature; the algorithm,
 * the key, the exact `typ` and the header members (`alg`, `kid`, `typ`, no others) are pinned here. `client_id` tells
 * access tokens from ID tokens, as both may have the `typ` `JWT`, and the claim `typ` of those that are as Keycloak's.
 */
export interface TokenVerifier {
  /**
   * Resolves with the claims of a live access token (RFC 9068 §4), or undefined for anything else. Answers
   * synchronously if the token was verified before. The caller checks the issuer. Throws `temporarily_unavailable` if a
   * key must be fetched and `keys` does not answer.
   * @param onward called for the options of a call to `keys`, if one is needed
   */
  accessToken(
    token: string,
    onward: () => CallOptions,
  ): AccessTokenClaims | undefined | Promise<AccessTokenClaims | undefined>;
  /** Resolves with the claims of an ID token, expired or not (OIDC RP-Initiated Logout §2). */
  idToken(token: string, onward: () => CallOptions): Promise<IdTokenHint | undefined>;
}

/** The claims of an ID token used as `id_token_hint`. */
export interface IdTokenHint {
  readonly iss: string;
  readonly sub: string;
  /** The client the ID token was issued to. */
  readonly aud: string;
  /** Empty if the token has no session. */
  readonly sid: string;
}

/** A token takes about 0.7 KB. Large ones are verified each time instead: so many of them would take a gigabyte. */
const cachedTokens = 25_000;
/** Seconds one server's clock may be ahead of another's (FAPI 2.0 Security Profile §5.3.2.1). */
const clockSkew = 10;

const text = z.string().min(1);
const texts = z.array(text);
/** NumericDate (RFC 7519 §2) in whole seconds. */
const time = z.int().nonnegative();

const scopeNames = text.transform((names) => names.split(' ')).pipe(texts);
const contractClaims = z.object({
  iss: text,
  aud: text,
  sub: text,
  client_id: text,
  scope: z.union([texts, scopeNames]),
  typ: z.undefined().optional(),
  role: texts,
  exp: time,
  iat: time,
  nbf: time.optional(),
  jti: text,
  tenant_id: text,
  auth_time: time.optional(),
  acr: text.optional(),
  userinfo_claims: texts.optional(),
});
/** Those that are as Keycloak's alone have several audiences, or no scope. */
const keycloaksClaims = contractClaims.extend({
  aud: z.union([text, texts.min(2)]),
  scope: z.union([z.literal('').transform((): string[] => []), scopeNames]),
  typ: z.literal(keycloakAccessTokenTyp),
});
const accessTokenClaims = z.union([contractClaims, keycloaksClaims]);

/**
 * An access token may have the `typ` of an ID token in its header, and its client as an audience, but it names its
 * client and its scope (RFC 9068 §2.2).
 */
const idTokenHint = z.object({
  iss: text,
  sub: text,
  aud: text,
  iat: time,
  sid: z.string().default(''),
  typ: z.literal(keycloakIdTokenTyp).optional(),
  client_id: z.undefined().optional(),
  scope: z.undefined().optional(),
});

const protectedHeader = z.strictObject({
  alg: z.enum(signingAlgorithmNames),
  kid: z.string().regex(/^[A-Za-z0-9_-]{1,128}$/),
  typ: text,
});

interface VerifiedToken {
  readonly kid: string;
  /** The tenant whose own key it is; empty for one of the shared issuer. */
  readonly tenantId: string;
  readonly claims: z.infer<typeof accessTokenClaims>;
}

/**
 * Verifies with the keys of `keys` and remembers the access tokens it has verified. A revoked access token is not live.
 */
export function createTokenVerifier(
  keys: VerificationKeys,
  runtime: Pick<Runtime, 'clock'>,
  revoked: Pick<RevokedAccessTokens, 'has'>,
): TokenVerifier {
  const verified = boundedCache<VerifiedToken>(cachedTokens);
  const seconds = () => runtime.clock.now() / 1000;
  const isUsable = (claims: VerifiedToken['claims']) => isLive(claims, seconds()) && !revoked.has(claims.jti);

  async function verifyAccessToken(
    token: string,
    digest: string,
    onward: () => CallOptions,
  ): Promise<AccessTokenClaims | undefined> {
    const signed = await verifySignature(token, accessTokens, keys, onward);
    const claims = accessTokenClaims.safeParse(signed?.claims).data;
    if (signed === undefined || claims === undefined || !isUsable(claims)) return undefined;
    const { kid, tenantId } = signed;
    if (tenantId !== '' && claims.tenant_id !== tenantId) return undefined;
    if (token.length <= largeToken) verified.set(digest, { kid, tenantId, claims });
    return claims;
  }

  return {
    accessToken(token, onward) {
      if (token.length > longestToken) return undefined;
      const digest = hash('sha256', token, 'base64');
      const cached = verified.get(digest);
      // Withdrawing a key invalidates the tokens it signed.
      if (cached === undefined || !keys.has(cached.kid, cached.tenantId)) {
        return verifyAccessToken(token, digest, onward);
      }
      return isUsable(cached.claims) ? cached.claims : undefined;
    },
    async idToken(token, onward) {
      if (token.length > longestToken) return undefined;
      const signed = await verifySignature(token, idTokens, keys, onward);
      const hint = idTokenHint.safeParse(signed?.claims).data;
      if (hint === undefined || hint.iat > seconds() + clockSkew) return undefined;
      const { iss, sub, aud, sid } = hint;
      return { iss, sub, aud, sid };
    },
  };
}

/** What a kind of token has in its header. */
interface Accepted {
  readonly types: readonly string[];
  readonly algorithms: readonly SigningAlgorithmName[];
}

const accessTokens: Accepted = { types: accessTokenTypes, algorithms: signingAlgorithmNames };
const idTokens: Accepted = { types: [idTokenType], algorithms: signingAlgorithmNames };

/** Resolves with the key id and the claims of a token that has such a header and was signed by this server. */
async function verifySignature(
  token: string,
  { types, algorithms }: Accepted,
  keys: VerificationKeys,
  onward: () => CallOptions,
): Promise<{ kid: string; tenantId: string; claims: unknown } | undefined> {
  if (!isCanonical(token)) return undefined;
  let tenantId = '';
  const getKey = async (header: CompactJWSHeaderParameters): Promise<CryptoKey> => {
    const accepted = protectedHeader.safeParse(header).data;
    if (accepted === undefined || !types.includes(accepted.typ)) throw new errors.JWKSNoMatchingKey();
    // The issuer only chooses the key: once the signature is verified, the token is of this issuer.
    const found = await keys.find(accepted, decodeJwt(token).iss ?? '', onward);
    if (found === undefined) throw new errors.JWKSNoMatchingKey();
    ({ tenantId } = found);
    return found.key;
  };
  try {
    const { protectedHeader } = await compactVerify(token, getKey, {
      algorithms: [...algorithms],
    });
    return { kid: protectedHeader.kid ?? '', tenantId, claims: decodeJwt(token) };
  } catch (error) {
    // Any other error says nothing about the token: the key could not be fetched, or the caller gave up.
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

function isLive({ exp, iat, nbf = 0 }: VerifiedToken['claims'], now: number): boolean {
  return now < exp && iat <= now + clockSkew && nbf <= now + clockSkew;
}

/** Decoders of base64url ignore white space, padding and trailing bits, so only the canonical spelling is accepted. */
function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
}
