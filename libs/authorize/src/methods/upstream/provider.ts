import type { GetProviderResponse } from '@tessera/proto-gen/directory';
import type { Fetch, Places } from '@tessera/outbound';
import { errors, jwtVerify, type JWTPayload } from 'jose';
import * as client from 'openid-client';
import { isHttp, type FindMetadata, type ProviderMetadata } from './provider-metadata.ts';
import { ProviderAnswerError, ProviderUnreachableError } from './provider-refusals.ts';

/** A provider as it is declared, with its secret. */
export type DeclaredProvider = Omit<GetProviderResponse, '$typeName' | '$unknown'>;

/** How providers are reached. */
export interface Reach {
  readonly find: FindMetadata;
  readonly fetch: Fetch;
  /** Of the requests that wait for them. */
  readonly places: Places;
  /** Whether plain http is allowed. */
  readonly allowInsecure: boolean;
}

/** What a provider must answer to, and with. */
export interface Checks {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** Seconds; undefined without a limit. */
  readonly maxAge: number | undefined;
}

type Claims = Readonly<Record<string, unknown>>;

/** What a provider proved: an ID token with our nonce, its signature and claims verified (OIDC Core §3.1.3.7). */
export interface ProviderAnswer {
  readonly idToken: string;
  readonly claims: Claims & { readonly iss: string; readonly sub: string };
  /** Of the UserInfo endpoint, for the same `sub`; undefined if it was not asked. */
  readonly userInfo: Claims | undefined;
}

/** A provider of a tenant that we are a client of. */
export interface Provider {
  /** Where the browser goes (OIDC Core §3.1.2.1); without PKCE and `state` it is not complete. */
  authorizationUrl(parameters: Readonly<Record<string, string>>): string;
  /**
   * Judges what the browser brought back to `uri`, and exchanges its code. Throws ProviderAnswerError for what is no
   * good answer, and ProviderUnreachableError if it cannot be exchanged now.
   */
  answer(
    uri: URL,
    checks: Checks,
    asks: (idToken: ProviderAnswer['claims']) => boolean,
  ): Promise<ProviderAnswer>;
  /** Where the browser signs out (OIDC RP-Initiated Logout §2); undefined for a provider that has no such address. */
  endSessionUrl(parameters: Readonly<Record<string, string>>): string | undefined;
  /**
   * The claims of a logout token that the provider signed for us, none of which is judged but `iss`, `aud` and the
   * times (OIDC Back-Channel Logout §2.6). Throws as `answer` does.
   * @param longestSeconds since the token was made
   */
  logoutToken(token: string, longestSeconds: number): Promise<JWTPayload>;
}

/** Whom an ID token is signed by can be proved to others: a shared secret proves nothing, and `none` nothing at all. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

const toleranceSeconds = 30;

/** By its metadata, found through `reach`. */
export async function openProvider(declared: DeclaredProvider, reach: Reach): Promise<Provider> {
  const metadata = await reach.find(declared.issuer);
  const configuration = configurationOf(declared, metadata, reach);

  async function exchanged(uri: URL, checks: Checks) {
    const { state, nonce, codeVerifier, maxAge } = checks;
    try {
      return await client.authorizationCodeGrant(configuration, uri, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
        ...(maxAge === undefined ? {} : { maxAge }),
      });
    } catch (error) {
      throw failureOf(error);
    }
  }

  return {
    authorizationUrl: (parameters) => client.buildAuthorizationUrl(configuration, { ...parameters }).href,

    async answer(uri, checks, asks) {
      const tokens = await exchanged(uri, checks);
      const { id_token: idToken = '', access_token: accessToken } = tokens;
      const claims = tokens.claims();
      if (claims === undefined || claims.iss !== declared.issuer)
        throw new ProviderAnswerError('invalid', 'the ID token is of another issuer');
      await verifySignature(idToken, declared, metadata);
      const userInfo =
        metadata.server.userinfo_endpoint !== undefined && asks(claims)
          ? await client.fetchUserInfo(configuration, accessToken, claims.sub).catch((error: unknown) => {
              throw failureOf(error);
            })
          : undefined;
      return { idToken, claims, userInfo };
    },

    endSessionUrl(parameters) {
      const { end_session_endpoint: endpoint } = metadata.server;
      if (!isHttp(endpoint, reach.allowInsecure)) return undefined;
      return client.buildEndSessionUrl(configuration, { ...parameters }).href;
    },

    logoutToken: async (token, longestSeconds) =>
      verifyLogoutToken(token, longestSeconds, declared, metadata),
  };
}

function configurationOf(
  { clientId, clientSecret }: DeclaredProvider,
  { server }: ProviderMetadata,
  { fetch, allowInsecure }: Reach,
): client.Configuration {
  // The default is Basic (OIDC Core §9).
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const authenticate = methods.includes('client_secret_basic')
    ? client.ClientSecretBasic(clientSecret)
    : client.ClientSecretPost(clientSecret);
  const configuration = new client.Configuration(
    server,
    clientId,
    { [client.clockTolerance]: toleranceSeconds },
    authenticate,
  );
  configuration[client.customFetch] = fetch;
  if (allowInsecure) client.allowInsecureRequests(configuration);
  return configuration;
}

/**
 * In seconds. With an age, a token that is made in the future is refused; how old an ID token may be, it says itself.
 */
const anyAge = Number.MAX_SAFE_INTEGER;

/** New keys are fetched at once for a key that is not known: what names it came from the provider itself. */
async function verifySignature(
  idToken: string,
  { issuer, clientId: audience }: DeclaredProvider,
  { keys }: ProviderMetadata,
): Promise<void> {
  const verify = async () =>
    jwtVerify(idToken, keys, {
      issuer,
      audience,
      algorithms,
      clockTolerance: toleranceSeconds,
      maxTokenAge: anyAge,
    });
  try {
    await verify().catch(async (error: unknown) => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await keys.reload();
      await verify();
    });
  } catch (error) {
    throw failureOfSignature(error);
  }
}

const typesOfLogoutTokens: ReadonlySet<unknown> = new Set([undefined, 'jwt', 'logout+jwt']);

/** Anybody may send one, so that new keys are fetched for it at most once within some seconds. */
async function verifyLogoutToken(
  token: string,
  maxTokenAge: number,
  { issuer, clientId: audience }: DeclaredProvider,
  { keys }: ProviderMetadata,
): Promise<JWTPayload> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms,
      clockTolerance: toleranceSeconds,
      maxTokenAge,
      requiredClaims: ['iat', 'exp', 'jti', 'events'],
    });
    const type = protectedHeader.typ?.toLowerCase().replace(/^application\//, '');
    if (!typesOfLogoutTokens.has(type))
      throw new ProviderAnswerError('invalid', 'it is a token of another type');
    return payload;
  } catch (error) {
    throw error instanceof ProviderAnswerError ? error : failureOfSignature(error);
  }
}

function failureOfSignature(error: unknown): Error {
  return error instanceof errors.JOSEError && !ofKeySet.has(error.code)
    ? new ProviderAnswerError('invalid', error)
    : new ProviderUnreachableError('its keys cannot be read', { cause: error });
}

const ofKeySet = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID']);

/** Errors with which a provider says that it would answer at another time (RFC 6749 §4.1.2.1). */
const atAnotherTime = new Set(['temporarily_unavailable', 'server_error']);

/** No answer, or none of an OpenID provider. */
const noAnswer = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_PARSE_ERROR',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
]);

function failureOf(error: unknown): Error {
  if (error instanceof client.AuthorizationResponseError)
    return atAnotherTime.has(error.error)
      ? new ProviderUnreachableError('it says so', { cause: error })
      : new ProviderAnswerError('denied', error);
  const isAnswered =
    error instanceof client.WWWAuthenticateChallengeError ||
    (error instanceof client.ResponseBodyError && error.status < 500) ||
    (error instanceof client.ClientError && !noAnswer.has(error.code ?? ''));
  return isAnswered
    ? new ProviderAnswerError('invalid', error)
    : new ProviderUnreachableError('it does not answer', { cause: error });
}
