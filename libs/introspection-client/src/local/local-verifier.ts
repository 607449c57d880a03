import { decodeJwt, errors, jwtVerify, type JWTPayload } from 'jose';
import { signingAlgorithmNames } from '@tessera/oauth/signing-algorithms';
import { inactive, type Answer } from '../server/introspection-answer.ts';
import { PublishedKeys } from './published-keys.ts';
import type { LocalOptions } from '../introspector-types.ts';

const defaultCacheSeconds = 60;

/** An API resource may declare the `typ` of ID tokens; those lack `client_id`. */
const accessTokenTypes: readonly (string | undefined)[] = ['at+jwt', 'JWT'];

/** The claim `typ` of access tokens that are as Keycloak's. */
const likeKeycloaks = 'Bearer';

/** Allowed clock skew in seconds, as on the server. */
const clockTolerance = 10;

/** Not verifiable locally: the keys are unavailable or the token is not a JWT. Ask the server. */
export type LocalAnswer = Answer | 'ask';

/** Verifies signature, type, issuer and times of access tokens with the published keys (RFC 9068 §4). */
export class LocalVerifier {
  readonly #options: LocalOptions;
  /** By issuer. */
  readonly #keys: ReadonlyMap<string, PublishedKeys>;

  /** @param patienceMs longest wait of one verification for the keys */
  constructor(options: LocalOptions, patienceMs: number) {
    this.#options = options;
    const issuers = [options.issuer].flat();
    if (options.jwksUri !== undefined && issuers.length > 1) {
      throw new Error(
        'jwksUri is for one issuer; without it the keys of each are at <issuer>/.well-known/jwks.json.',
      );
    }
    const uriOf = (issuer: string) => options.jwksUri ?? `${issuer}/.well-known/jwks.json`;
    this.#keys = new Map(issuers.map((issuer) => [issuer, new PublishedKeys(uriOf(issuer), patienceMs)]));
  }

  async judge(token: string): Promise<LocalAnswer> {
    if (token.split('.', 4).length !== 3) return 'ask';
    try {
      const { iss: issuer = '' } = decodeJwt(token);
      const keys = this.#keys.get(issuer);
      if (keys === undefined) return inactive;
      const { payload, protectedHeader } = await jwtVerify(token, keys.find, {
        algorithms: [...signingAlgorithmNames],
        issuer,
        requiredClaims: ['exp', 'iat', 'aud', 'sub', 'client_id', 'jti', 'tenant_id', 'scope', 'role'],
      });
      return accessTokenTypes.includes(protectedHeader.typ) ? this.#answer(payload) : inactive;
    } catch (error) {
      return isAboutTheToken(error) ? inactive : 'ask';
    }
  }

  #answer(claims: JWTPayload): Answer {
    const { sub, iss, aud = [], jti, iat = Infinity, exp = 0 } = claims;
    const { client_id: clientId, tenant_id: tenantId, scope, role: roles, auth_time: authTime, acr } = claims;
    const scopes = isText(scope)
      ? scope.split(' ')
      : scope === '' && claims['typ'] === likeKeycloaks
        ? []
        : scope;
    const audiences = [aud].flat();
    const now = Date.now() / 1000;
    const texts = [sub, iss, audiences[0], jti, clientId, tenantId];
    if (!texts.every(isText) || !audiences.every(isText) || !isTextList(scopes) || !isTextList(roles))
      return inactive;
    if (iat > now + clockTolerance || !isAccessToken(claims)) return inactive;
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
        audiences,
        iss: issuer ?? '',
        tenantId: tenant ?? '',
        exp,
        iat,
        jti: id ?? '',
        authTime: typeof authTime === 'number' ? authTime : 0,
        acr: isText(acr) ? acr : '',
        username: '',
      },
      cacheSeconds: Math.max(
        0,
        Math.min(this.#options.cacheSeconds ?? defaultCacheSeconds, Math.floor(exp - now) - 1),
      ),
    };
  }
}

/** The token is invalid, not our keys. An unpublished `kid` may be newer than the fetched keys. */
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

/** Where tokens are as Keycloak's, their claim `typ` says what they are; those alone may have several audiences. */
function isAccessToken({ typ, aud }: JWTPayload): boolean {
  return typ === likeKeycloaks || (typ === undefined && typeof aud === 'string');
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isText);
}
