import { TokenKind, type ExchangeResponse, type IntrospectResponse } from '@tessera/proto-gen/token';
import type { GrantType } from '@tessera/oauth';

/** Every parameter a body endpoint reads, under the name it has inside. */
export type Field =
  | 'authReqId'
  | 'bindingMessage'
  | 'clientId'
  | 'clientNotificationToken'
  | 'clientSecret'
  | 'code'
  | 'codeVerifier'
  | 'decision'
  | 'deviceCode'
  | 'grantType'
  | 'idTokenHint'
  | 'loginHint'
  | 'loginHintToken'
  | 'reasonRevoked'
  | 'redirectUri'
  | 'refreshToken'
  | 'requestedExpiry'
  | 'resource'
  | 'scope'
  | 'token';

/** How one media type names parameters and writes answers. No rule lives here. */
export interface Dialect {
  readonly name: 'contract' | 'standard';
  /** Names on the wire; a field without one does not exist in the dialect. */
  readonly names: Readonly<Partial<Record<Field, string>>>;
  grantType(name: string): GrantType | undefined;
  tokens(response: ExchangeResponse): object;
  introspection(response: IntrospectResponse): object;
  failure(code: string, message: string): object;
}

/** The introspection members both dialects share (RFC 7662 §2.2); an inactive answer has nothing else. */
export function introspectionMembers(response: IntrospectResponse): object {
  if (!response.active) return { active: false };
  return {
    active: true,
    sub: response.sub,
    client_id: response.clientId,
    scope: response.scope,
    exp: Number(response.exp),
    ...(response.aud === '' ? {} : { aud: response.aud }),
    ...(response.iss === '' ? {} : { iss: response.iss }),
    ...(response.iat === 0n ? {} : { iat: Number(response.iat) }),
    ...tokenType(response),
    ...(response.tenantId === '' ? {} : { tenant_id: response.tenantId }),
  };
}

/** `token_type` is the type of an access token (RFC 6749 §5.1); a refresh token has none, so it cannot pass for one. */
function tokenType(response: IntrospectResponse): { token_type?: 'Bearer' } {
  return response.kind === TokenKind.ACCESS_TOKEN ? { token_type: 'Bearer' } : {};
}
