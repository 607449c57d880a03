import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload } from 'jose';

/** What jose says when the keys could not be had: nothing is known of the token then. */
const noKeys = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID']);
const invalid = { status: 401, challenge: 'Bearer error="invalid_token"' };

/** The claims of a good token, or what to refuse the request with. */
type Verdict = { claims: JWTPayload } | { status: number; challenge?: string };

/** How a person must have signed in: in one of these classes or a stronger one, and at most so many seconds ago. */
interface Demand {
  acrValues?: string[];
  maxAge?: number;
}

/** A check of `Authorization` headers for one API in one tenant. */
export function accessTokenCheck(service: { issuer: string; audience: string; tenantId: string }) {
  const { issuer, audience, tenantId } = service;
  const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`));
  const rules = { issuer, audience, typ: 'at+jwt', algorithms: ['RS256'], clockTolerance: 10 };

  return async (authorization: string | undefined, scope: string, demand: Demand = {}): Promise<Verdict> => {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return { status: 401, challenge: 'Bearer' };
    try {
      const { payload } = await jwtVerify(token, keys, { ...rules, requiredClaims: ['sub', 'exp', 'iat'] });
      if (payload['tenant_id'] !== tenantId) return invalid;
      // A list of names: in a text, `includes` would find orders.read in orders.read.all.
      const { scope: scopes } = payload;
      if (!Array.isArray(scopes) || !scopes.includes(scope))
        return { status: 403, challenge: `Bearer error="insufficient_scope", scope="${scope}"` };
      return isMet(demand, payload) ? { claims: payload } : { status: 401, challenge: stepUp(demand) };
    } catch (error) {
      const isTrouble = !(error instanceof errors.JOSEError) || noKeys.has(error.code);
      return isTrouble ? { status: 503 } : invalid;
    }
  };
}

/** Classes are numbers: 2 serves where 1 is enough. Tokens without a person meet no demand. */
function isMet({ acrValues, maxAge }: Demand, { acr, auth_time: time = 0 }: JWTPayload): boolean {
  const isStrong = acrValues?.some((asked) => Number(acr) >= Number(asked)) ?? true;
  return isStrong && (maxAge === undefined || Date.now() / 1000 - Number(time) <= maxAge);
}

/** What the client asks Tessera for before it comes again (RFC 9470 §3). */
function stepUp({ acrValues, maxAge }: Demand): string {
  const classes = acrValues === undefined ? '' : `, acr_values="${acrValues.join(' ')}"`;
  const age = maxAge === undefined ? '' : `, max_age="${maxAge}"`;
  return `Bearer error="insufficient_user_authentication"${classes}${age}`;
}
