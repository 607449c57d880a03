import { TokenKind, type ExchangeResponse, type IntrospectResponse } from '@tessera/proto-gen/token';
import type { GrantType } from '@tessera/oauth';
import type { ParameterNames } from './parameter-names.ts';

/** How one media type names parameters and writes answers. No rule lives here. */
export interface Dialect {
  readonly name: 'contract' | 'standard';
  readonly names: ParameterNames;
  grantType(name: string): GrantType | undefined;
  tokens(response: ExchangeResponse): object;
  introspection(response: IntrospectResponse): object;
  failure(code: string, message: string): object;
}

/**
 * The members of a token response (RFC 6749 §5.1, OIDC Core §3.1.3.3) under the contract's names; empty ones are left
 * out.
 */
export function tokenMembers(response: ExchangeResponse): Readonly<Record<string, string | number>> {
  const { accessToken, expiresIn, scope, refreshToken, refreshExpiresIn, idToken } = response;
  return {
    accessToken,
    tokenType: 'Bearer',
    expiresIn,
    ...(scope === '' ? {} : { scope }),
    ...(refreshToken === '' ? {} : { refreshToken }),
    ...(refreshExpiresIn === 0 ? {} : { refreshExpiresIn }),
    ...(idToken === '' ? {} : { idToken }),
  };
}

/** RFC 7662 §2.2, RFC 9470 §6.2, and the tenant. */
interface IntrospectionMembers {
  active: boolean;
  sub?: string;
  client_id?: string;
  username?: string;
  scope?: string;
  exp?: number;
  aud?: string | string[];
  iss?: string;
  iat?: number;
  token_type?: 'Bearer';
  tenant_id?: string;
  auth_time?: number;
  acr?: string;
}

/** The introspection members both dialects share (RFC 7662 §2.2); an inactive answer has nothing else. */
export function introspectionMembers(response: IntrospectResponse): IntrospectionMembers {
  if (!response.active) return { active: false };
  const { sub, clientId, scope, exp, aud, audiences, iss, iat, tenantId, authTime, acr } = response;
  const { username = '' } = response;
  const members: IntrospectionMembers = { active: true, sub, client_id: clientId, scope, exp: Number(exp) };
  if (aud !== '') members.aud = audiences.length > 0 ? audiences : aud;
  if (iss !== '') members.iss = iss;
  if (iat !== 0n) members.iat = Number(iat);
  // The type of an access token (RFC 6749 §5.1); a refresh token has none, so it cannot pass for one.
  if (response.kind === TokenKind.ACCESS_TOKEN) members.token_type = 'Bearer';
  if (tenantId !== '') members.tenant_id = tenantId;
  if (authTime !== 0n) members.auth_time = Number(authTime);
  if (acr !== '') members.acr = acr;
  if (username !== '') members.username = username;
  return members;
}
