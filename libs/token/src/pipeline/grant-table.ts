import type { ApplicationRecord } from '@tessera/directory-client';
import type { CallOptions } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import type { GrantTypeName } from '@tessera/oauth';
import type { UserGrant } from '@tessera/proto-gen/oauth';
import type { ExchangeRequest } from '@tessera/proto-gen/token';
import type { Trail } from '../store/store.ts';

/** The parameters of a token request, without the client's credentials. */
export type TokenRequest = Omit<ExchangeRequest, '$typeName' | '$unknown' | 'caller' | 'credentials'>;

/** Parameters that a grant type may require, by their names in the RFCs. */
export const grantParameters = {
  code: (request: TokenRequest) => request.code,
  redirect_uri: (request: TokenRequest) => request.redirectUri,
  refresh_token: (request: TokenRequest) => request.refreshToken,
  device_code: (request: TokenRequest) => request.deviceCode,
  auth_req_id: (request: TokenRequest) => request.authReqId,
  assertion: (request: TokenRequest) => request.assertion,
} as const;

/** The error for a token request without a parameter that it needs (RFC 6749 §5.2). */
export function missingParameter(name: string): OAuthError {
  return new OAuthError('invalid_request', `The parameter ${name} is missing.`);
}

export type GrantParameter = keyof typeof grantParameters;

/** A token request of an authenticated client on its way through the pipeline. */
export interface Exchange extends ApplicationRecord {
  readonly request: TokenRequest;
  /** Scopes the request names, in order; empty when it names none. */
  readonly requestedScopes: readonly string[];
  /** Issuer of this request. A user's grant keeps the issuer it was made under. */
  readonly issuer: string;
  readonly trail: Trail;
  /** `jti` of the access token to be issued. */
  readonly tokenId: string;
  /** Options for a call to another service on behalf of this request. */
  readonly call: () => CallOptions;
  /** Throws `temporarily_unavailable` if the caller no longer waits for the response. */
  readonly throwIfAborted: () => void;
}

/** A presented code or token. If a later phase fails, the client can present it again. */
export interface Redemption {
  /** Undefined if the client acts on its own behalf. */
  readonly userGrant: UserGrant | undefined;
  /**
   * Phase 8: makes the redemption final and writes its audit row. Resolves with the refresh token to issue, if any. The
   * rotation of a refresh token is final after phase 4 already; `abandon` undoes it.
   */
  commit(issued: IssuedToken): Promise<RefreshTokenAnswer | undefined>;
  /** Called when a later phase failed: undoes what `redeem` changed to the client's disadvantage. Never throws. */
  abandon?(): Promise<void>;
}

/** A refresh token to issue. */
export interface RefreshTokenAnswer {
  readonly token: string;
  /** Seconds until it expires if it is not used; 0 where clients are not told. */
  readonly expiresIn: number;
}

/** Properties of an issued access token for its audit row. */
export interface IssuedToken {
  readonly scopes: readonly string[];
  /** Several with spaces between. */
  readonly audience: string;
}

/** One grant type: the hooks that the pipeline calls. A grant type cannot skip a phase. */
export interface Grant {
  readonly name: GrantTypeName;
  /** Phase 1: the required parameters. */
  readonly parameters: readonly GrantParameter[];
  /** Whether what is presented also says who the client is, so that it sends no credentials (RFC 7523 §2.1). */
  readonly identifies?: true;
  /** Phase 3, beyond the application's list of grant types; throws `unauthorized_client` or `invalid_request`. */
  permit?(exchange: Exchange): void;
  /** Phase 4: redeems the presented code or token. Throws `invalid_grant` if it is not valid. */
  redeem(exchange: Exchange): Promise<Redemption>;
}

/** The grant types that this process offers, by name. */
export type GrantTable = ReadonlyMap<string, Grant>;
