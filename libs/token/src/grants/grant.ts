import type { ApplicationRecord } from '@tessera/directory-client';
import type { CallOptions } from '@tessera/rpc';
import type { GrantTypeName } from '@tessera/oauth';
import type { ExchangeRequest } from '@tessera/proto-gen/token';
import type { Trail } from '../store/store.ts';

/** What a token request asks for; who sends it is established apart from it. */
export type TokenRequest = Omit<ExchangeRequest, '$typeName' | '$unknown' | 'caller' | 'credentials'>;

/** The parameters of the token request that a grant type may require, by their names in the RFCs. */
export const grantParameters = {
  code: (request: TokenRequest) => request.code,
  code_verifier: (request: TokenRequest) => request.codeVerifier,
  redirect_uri: (request: TokenRequest) => request.redirectUri,
  refresh_token: (request: TokenRequest) => request.refreshToken,
  device_code: (request: TokenRequest) => request.deviceCode,
  auth_req_id: (request: TokenRequest) => request.authReqId,
} as const;

export type GrantParameter = keyof typeof grantParameters;

/** One token request on its way through the pipeline, once its client is authenticated. */
export interface Exchange extends ApplicationRecord {
  readonly request: TokenRequest;
  /** Scopes the request names, in order; empty when it names none. */
  readonly requestedScopes: readonly string[];
  /** Issuer of this request; a person's grant keeps the one it was made under. */
  readonly issuer: string;
  readonly trail: Trail;
  /** `jti` of the access token to be issued. */
  readonly tokenId: string;
  readonly call: () => CallOptions;
  /** Throws `temporarily_unavailable` when nobody waits for the answer any more. */
  readonly requireAwaited: () => void;
}

/** What a person granted. */
export interface PersonalGrant {
  readonly userId: string;
  readonly scopes: readonly string[];
  /** Audience of the granted API scopes; empty when there are none. */
  readonly resource: string;
  readonly sessionId: string;
  readonly issuer: string;
  /** Seconds since the Unix epoch. */
  readonly authTime: number;
  /** Of the authorization request; empty when there was none. */
  readonly nonce: string;
}

/** Claims that an ID token has besides those of every ID token. */
export type ExtraClaims = Readonly<Record<string, string>>;

/** What was presented, redeemed as far as a failure of a later phase allows. */
export interface Redemption {
  /** Undefined when the client acts for itself. */
  readonly person: PersonalGrant | undefined;
  readonly idTokenClaims?: ExtraClaims | undefined;
  /** Phase 8: makes the redemption final, with its audit row; resolves with the refresh token to hand out, if any. */
  commit(issued: IssuedFacts): Promise<string | undefined>;
  /** A later phase failed: what `redeem` changed must not be held against the client. Never throws. */
  abandon?(): Promise<void>;
}

/** What the audit row of a delivered token says about it. */
export interface IssuedFacts {
  readonly scopes: readonly string[];
  readonly audience: string;
}

/** One grant type. It fills in the hooks of the pipeline and cannot skip a phase of it. */
export interface Grant {
  readonly name: GrantTypeName;
  /** Phase 1: each of these must be present. */
  readonly parameters: readonly GrantParameter[];
  /** Phase 3, beyond the application's list of grant types; throws `unauthorized_client`. */
  permit?(client: ApplicationRecord): void;
  /** Phase 4. */
  redeem(exchange: Exchange): Promise<Redemption>;
}

/** The grant types this process offers. */
export type GrantTable = ReadonlyMap<string, Grant>;
