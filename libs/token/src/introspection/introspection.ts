import { setImmediate as nextTurn } from 'node:timers/promises';
import { Code, ConnectError, type CallContext } from '@tessera/rpc';
import { epochSeconds } from '@tessera/kit';
import { type Runtime } from '@tessera/process';
import { acrOf, audiencesIn, OAuthError, resourcesIn, type AccessTokenClaims } from '@tessera/oauth';
import { TokenKind, type BatchIntrospectRequest, type IntrospectRequest } from '@tessera/proto-gen/token';
import { isOfSession, isUsable } from '../usable.ts';
import type { RefreshTokenCodec } from '../refresh-token-format.ts';
import type { UserGrant } from '@tessera/proto-gen/oauth';
import type { LiveFamily, RefreshStore } from '../store/store.ts';
import { requestedIssuer, servesAccessTokensOf, servesFamiliesOf } from '../requested-issuer.ts';
import type { LiveSessions } from '../verification/sessions-of-families.ts';
import type { TokenVerifier } from '../verification/token-verifier.ts';
import { accessPolicyFor, type AccessPolicy, type AccessPolicyDeps } from './access-policy.ts';

export interface IntrospectionDeps extends AccessPolicyDeps {
  readonly runtime: Pick<Runtime, 'clock'>;
  readonly verifier: TokenVerifier;
  readonly refreshTokens: RefreshTokenCodec;
  readonly families: Pick<RefreshStore, 'findLive'>;
  readonly liveSessions: Pick<LiveSessions, 'among'>;
  /** Undefined: any issuer of this server, or for a request from the gateway the issuer it was sent to. */
  readonly issuer: string | undefined;
}

/**
 * How long the response for an access token may be cached: a withdrawn key takes effect after it. Callers may forget
 * earlier, or watch revocations.
 */
const longestCacheSeconds = 60;

/** RFC 7662 §2.2. Nothing else is said about an inactive token. */
export type IntrospectionResult = { readonly active: false } | ActiveToken;

export interface ActiveToken {
  readonly active: true;
  readonly kind: TokenKind;
  readonly sub: string;
  readonly clientId: string;
  readonly scope: string;
  readonly exp: bigint;
  readonly iat: bigint;
  readonly iss: string;
  readonly tenantId: string;
  readonly aud?: string;
  /** Of several; else none. */
  readonly audiences?: string[];
  readonly role?: string[];
  readonly jti?: string;
  /** When and in which class the person signed in (RFC 9470 §6.2). */
  readonly authTime?: bigint;
  readonly acr?: string;
  /** Of the person; absent without one, and where `introspectUnnamed` answers. */
  readonly username?: string;
  readonly cacheSeconds?: number;
}

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly retryAfterSeconds: number;
}

/** The outcome for one token of a batch. */
type Outcome = {
  readonly outcome:
    | { readonly case: 'result'; readonly value: IntrospectionResult }
    | { readonly case: 'failure'; readonly value: Failure };
};

const inactive = { active: false } as const;
const largestBatch = 1_000;
/** How long an answer waits for the user name. */
const longestNameMs = 500;
/** Tokens of a batch that are introspected in one turn of the event loop. */
const sliceSize = 64;

/**
 * Introspects a token (RFC 7662 §2). An invalid token is inactive, whatever the reason. A server error is thrown and
 * never reported as inactive.
 */
export async function introspect(
  deps: IntrospectionDeps,
  request: Pick<IntrospectRequest, 'token' | 'credentials' | 'caller'>,
  context: CallContext,
): Promise<IntrospectionResult> {
  return named(deps, await introspectUnnamed(deps, request, context), context);
}

/** The same without the user name, for answers that do not contain it. */
export async function introspectUnnamed(
  deps: IntrospectionDeps,
  request: Pick<IntrospectRequest, 'token' | 'credentials' | 'caller'>,
  context: CallContext,
): Promise<IntrospectionResult> {
  if (request.token === '') throw new OAuthError('invalid_request', 'Invalid request.');
  const policy = await accessPolicyFor(deps, request, context);
  const { credentials, caller } = request;
  const requester = {
    policy,
    issuer: caller && requestedIssuer(deps.issuer, caller),
    tenantId: caller?.tenantId ?? '',
    clientId: credentials?.clientId,
    ipAddress: caller?.ipAddress ?? '',
  };
  return introspectToken(deps, request.token, requester, context);
}

/** Introspects many tokens: one outcome per token, in order. Throws INVALID_ARGUMENT for too many. */
export async function introspectBatch(
  deps: IntrospectionDeps,
  { tokens }: BatchIntrospectRequest,
  context: CallContext,
): Promise<Outcome[]> {
  if (tokens.length > largestBatch) {
    throw new ConnectError(`At most ${largestBatch} tokens per batch.`, Code.InvalidArgument);
  }
  const policy = await accessPolicyFor(deps, {}, context);
  const requester = { policy, issuer: undefined, tenantId: '', clientId: undefined, ipAddress: '' };
  const outcomes: Outcome[] = [];
  for (let start = 0; start < tokens.length; start += sliceSize) {
    if (start > 0) await nextTurn();
    const slice = tokens.slice(start, start + sliceSize);
    outcomes.push(...(await Promise.all(slice.map((token) => outcomeOf(deps, token, requester, context)))));
  }
  return outcomes;
}

async function outcomeOf(
  deps: IntrospectionDeps,
  token: string,
  requester: Requester,
  context: CallContext,
): Promise<Outcome> {
  try {
    const result = await introspectToken(deps, token, requester, context);
    return { outcome: { case: 'result', value: await named(deps, result, context) } };
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const { code, message, retryAfterSeconds = 0 } = error;
    return { outcome: { case: 'failure', value: { code, message, retryAfterSeconds } } };
  }
}

/** On whose behalf a token is introspected. */
interface Requester {
  readonly policy: AccessPolicy;
  /**
   * The issuer that the request was sent to: only its access tokens are active. Undefined: those of every issuer of
   * this server.
   */
  readonly issuer: string | undefined;
  /** The tenant whose own issuer it is; empty at the shared issuer. */
  readonly tenantId: string;
  /** The client whose credentials the gateway forwards. */
  readonly clientId: string | undefined;
  readonly ipAddress: string;
}

/** The one decision for all callers and protocols. */
async function introspectToken(
  deps: IntrospectionDeps,
  token: string,
  requester: Requester,
  context: CallContext,
): Promise<IntrospectionResult> {
  const reference = deps.refreshTokens.decode(token);
  if (reference === undefined) {
    const claims = await deps.verifier.accessToken(token, () => context.onward());
    if (claims === undefined || !(await servesAccessTokensOf(deps, requester.issuer, claims.iss)))
      return inactive;
    const { tenant_id: tenantId, client_id: clientId } = claims;
    const audiences = audiencesIn(claims.aud);
    if (!requester.policy.allowsAccessToken({ tenantId, clientId, audiences })) {
      return denyForeignToken(deps, requester, context, tenantId);
    }
    return describeAccessToken(deps, claims);
  }
  const family = await deps.families.findLive(reference.familyId, reference.generation);
  if (family === undefined || !(await servesFamiliesOf(deps, requester, family.grant.issuer)))
    return inactive;
  const { tenantId, clientId } = family.grant;
  const audiences = resourcesIn(family.grant.resource);
  if (!requester.policy.allowsRefreshToken({ tenantId, clientId, audiences })) {
    return denyForeignToken(deps, requester, context, tenantId);
  }
  return (await isUsableNow(deps, family.grant, context)) ? describeFamily(family) : inactive;
}

/**
 * Adds the person's user name (RFC 7662 §2.2), from the cached user. An access token outlives an outage of the
 * directory and the deletion of its user: the name is left out then, and the answer not cached.
 */
async function named(
  { directory }: IntrospectionDeps,
  result: IntrospectionResult,
  context: CallContext,
): Promise<IntrospectionResult> {
  if (!result.active || !isOfPerson(result)) return result;
  try {
    const call = context.onward();
    const timeoutMs = Math.min(call.timeoutMs ?? longestNameMs, longestNameMs);
    const user = await directory.user(result.tenantId, result.sub, { ...call, timeoutMs });
    return user === undefined ? result : { ...result, username: user.username };
  } catch (error) {
    if (!(error instanceof OAuthError) || error.code !== 'temporarily_unavailable') throw error;
    return { ...result, cacheSeconds: 0 };
  }
}

/** With client credentials the subject is the client itself, and nobody signed in. */
function isOfPerson({ sub, clientId, authTime = 0n }: ActiveToken): boolean {
  return sub !== clientId || authTime !== 0n;
}

/** An active token that the requester may not see is reported as inactive, and audited. */
function denyForeignToken(
  { audit }: IntrospectionDeps,
  { clientId, ipAddress }: Requester,
  { principal, requestId }: CallContext,
  tenantId: string,
): IntrospectionResult {
  audit.add({
    event: 'introspect.denied',
    outcome: 'failure',
    reason: 'foreign_token',
    tenantId,
    clientId: clientId ?? principal?.id ?? '',
    requestId,
    ipAddress,
  });
  return inactive;
}

/**
 * A refresh token is active only if a refresh would accept it now: user, application, tenant and session are checked
 * too.
 */
async function isUsableNow(
  { directory, liveSessions }: Pick<IntrospectionDeps, 'directory' | 'liveSessions'>,
  grant: UserGrant,
  context: CallContext,
): Promise<boolean> {
  const { clientId, tenantId, userId, sessionId } = grant;
  const [client, user, live] = await Promise.all([
    directory.application(clientId, context.onward()),
    directory.user(tenantId, userId, context.onward()),
    isOfSession(grant) ? liveSessions.among(tenantId, [sessionId], context.onward()) : undefined,
  ]);
  return (live === undefined || live.has(sessionId)) && isUsable(client, user, grant);
}

function describeAccessToken({ runtime }: IntrospectionDeps, claims: AccessTokenClaims): ActiveToken {
  const audiences = audiencesIn(claims.aud);
  return {
    active: true,
    kind: TokenKind.ACCESS_TOKEN,
    sub: claims.sub,
    clientId: claims.client_id,
    scope: claims.scope.join(' '),
    exp: BigInt(claims.exp),
    iat: BigInt(claims.iat),
    iss: claims.iss,
    tenantId: claims.tenant_id,
    aud: audiences[0] ?? '',
    ...(audiences.length > 1 && { audiences: [...audiences] }),
    role: [...claims.role],
    jti: claims.jti,
    authTime: BigInt(claims.auth_time ?? 0),
    acr: claims.acr ?? '',
    cacheSeconds: Math.max(0, Math.min(longestCacheSeconds, claims.exp - epochSeconds(runtime.clock) - 1)),
  };
}

/** The response must not be cached, as the next use of the refresh token invalidates it. */
function describeFamily({ grant, expiresAt, issuedAt }: LiveFamily): ActiveToken {
  const { time = 0, methods = [] } = grant.authentication ?? {};
  return {
    active: true,
    kind: TokenKind.REFRESH_TOKEN,
    sub: grant.userId,
    clientId: grant.clientId,
    scope: grant.scopes.join(' '),
    exp: BigInt(expiresAt),
    iat: BigInt(issuedAt),
    iss: grant.issuer,
    tenantId: grant.tenantId,
    authTime: BigInt(methods.length === 0 ? 0 : time),
    acr: acrOf(methods) ?? '',
  };
}
