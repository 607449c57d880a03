import { errors, jwtVerify, type JWTPayload } from 'jose';
import { inactive, type Answer } from './answers.ts';
import { PublishedKeys } from './published-keys.ts';
import type { LocalOptions } from './types.ts';

const defaultCacheSeconds = 60;

/** Seconds a clock of ours may be ahead of the server's, as the server itself allows. */
const clockTolerance = 10;

/** What cannot be told here: the keys are out of reach or the token is not a JWT; the server has to be asked. */
export type LocalAnswer = Answer | 'ask';

/** Judges access tokens by signature, type, issuer and time, with the server's published keys (RFC 9068 §4). */
export class LocalVerifier {
  readonly #options: LocalOptions;
  readonly #keys: PublishedKeys;

  /** @param patienceMs how long one answer waits for the keys at most */
  constructor(options: LocalOptions, patienceMs: number) {
    this.#options = options;
    const uri = options.jwksUri ?? `${options.issuer}/.well-known/jwks.json`;
    this.#keys = new PublishedKeys(uri, patienceMs);
  }

  async judge(token: string): Promise<LocalAnswer> {
    if (token.split('.', 4).length !== 3) return 'ask';
    try {
      const { payload } = await jwtVerify(token, this.#keys.find, {
        algorithms: ['RS256'],
        typ: 'at+jwt',
        issuer: this.#options.issuer,
        requiredClaims: ['exp', 'iat', 'aud', 'sub', 'client_id', 'jti', 'tenant_id', 'scope', 'role'],
      });
      return this.#answer(payload);
    } catch (error) {
      return isAboutTheToken(error) ? inactive : 'ask';
    }
  }

  #answer(claims: JWTPayload): Answer {
    const { sub, iss, aud, jti, iat = Infinity, exp = 0 } = claims;
    const { client_id: clientId, tenant_id: tenantId, scope: scopes, role: roles } = claims;
    const now = Date.now() / 1000;
    const texts = [sub, iss, aud, jti, clientId, tenantId];
    if (!texts.every(isText) || !isTextList(scopes) || !isTextList(roles)) return inactive;
    if (iat > now + clockTolerance) return inactive;
    const [subject, issuer, audience, id, client, tenant] = texts;
    return {
      introspection: {
        active: true,
        kind: 'access_token',
        sub: subject ?? '',
        clientId: client ?? '',
        scopes,
        roles,
        aud: audience ?? '',
        iss: issuer ?? '',
        tenantId: tenant ?? '',
        exp,
        iat,
        jti: id ?? '',
      },
      cacheSeconds: Math.max(
        0,
        Math.min(this.#options.cacheSeconds ?? defaultCacheSeconds, Math.floor(exp - now) - 1),
      ),
    };
  }
}

/** The token is what is wrong, not our keys. A `kid` that is not published may be newer than what we fetched. */
function isAboutTheToken(error: unknown): boolean {
  return (
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JWTExpired ||
    error instanceof errors.JWTClaimValidationFailed ||
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JOSENotSupported
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isText);
}
