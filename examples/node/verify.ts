import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload } from 'jose';

/** What jose says when the keys could not be had: nothing is known of the token then. */
const noKeys = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID']);
const invalid = { status: 401, challenge: 'Bearer error="invalid_token"' };

/** The claims of a good token, or what to refuse the request with. */
type Verdict = { claims: JWTPayload } | { status: number; challenge?: string };

/** A check of `Authorization` headers for one API in one tenant. */
export function accessTokenCheck(service: { issuer: string; audience: string; tenantId: string }) {
  const { issuer, audience, tenantId } = service;
  const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`));
  const rules = { issuer, audience, typ: 'at+jwt', algorithms: ['RS256'], clockTolerance: 10 };

  return async (authorization: string | undefined, scope: string): Promise<Verdict> => {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return { status: 401, challenge: 'Bearer' };
    try {
      const { payload } = await jwtVerify(token, keys, { ...rules, requiredClaims: ['sub', 'exp', 'iat'] });
      if (payload['tenant_id'] !== tenantId) return invalid;
      // A list of names: in a text, `includes` would find orders.read in orders.read.all.
      const { scope: scopes } = payload;
      if (Array.isArray(scopes) && scopes.includes(scope)) return { claims: payload };
      return { status: 403, challenge: `Bearer error="insufficient_scope", scope="${scope}"` };
    } catch (error) {
      const isTrouble = !(error instanceof errors.JOSEError) || noKeys.has(error.code);
      return isTrouble ? { status: 503 } : invalid;
    }
  };
}
