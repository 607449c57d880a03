/** Compatibility until 0.3: a grant as version 0.1 stores it and sends it. */
export interface FlatGrant {
  readonly tenantId: string;
  readonly clientId: string;
  readonly userId: string;
  readonly scopes: readonly string[];
  readonly resource: string;
  readonly issuer: string;
  readonly sessionId: string;
  /** Seconds since the Unix epoch. */
  readonly authTime: number | bigint;
  readonly nonce?: string;
  readonly userinfoClaims?: readonly string[];
  readonly idTokenClaims?: readonly string[];
}

/** The fields of the `UserGrant` that a flat grant stands for. In 0.1 every session began with a password. */
export function userGrantFields({ authTime, ...flat }: FlatGrant) {
  const methods = flat.sessionId === '' ? [] : ['pwd'];
  return {
    ...flat,
    nonce: flat.nonce ?? '',
    scopes: [...flat.scopes],
    userinfoClaims: [...(flat.userinfoClaims ?? [])],
    idTokenClaims: [...(flat.idTokenClaims ?? [])],
    authentication: { time: Number(authTime), methods },
  };
}

/** The same, for a reader of version 0.1; its lists are copies. */
export function flatGrant(
  grant: Omit<FlatGrant, 'authTime' | 'nonce'> & {
    readonly nonce: string;
    readonly authentication?: { readonly time: number } | undefined;
  },
) {
  const { tenantId, clientId, userId, resource, issuer, sessionId, nonce } = grant;
  return {
    tenantId,
    clientId,
    userId,
    scopes: [...grant.scopes],
    resource,
    issuer,
    sessionId,
    nonce,
    authTime: BigInt(grant.authentication?.time ?? 0),
    userinfoClaims: [...(grant.userinfoClaims ?? [])],
    idTokenClaims: [...(grant.idTokenClaims ?? [])],
  };
}
