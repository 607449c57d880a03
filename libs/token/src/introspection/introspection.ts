import { setImmediate as breathe } from 'node:timers/promises';
import type { DirectoryClient } from '@tessera/directory-client';
import { Code, ConnectError, type CallContext } from '@tessera/rpc';
import { epochSeconds } from '@tessera/kit';
import { type AuditBatch } from '@tessera/audit';
import { type Kit } from '@tessera/process';
import { OAuthError, type AccessTokenClaims } from '@tessera/oauth';
import { TokenKind, type BatchIntrospectRequest, type IntrospectRequest } from '@tessera/proto-gen/token';
import type { Bindings } from './certificate-clients.ts';
import { mayUseRefreshTokens } from '../client-authentication.ts';
import type { RefreshTokenCodec } from '../refresh-token-format.ts';
import type { LiveFamily, RefreshStore } from '../store/store.ts';
import type { TokenVerifier } from '../verification/token-verifier.ts';
import { viewOf, type View } from './access-policy.ts';

export interface IntrospectionParts {
  readonly kit: Pick<Kit, 'clock'>;
  readonly directory: DirectoryClient;
  readonly audit: Pick<AuditBatch, 'add'>;
  readonly bindings: Bindings;
  readonly verifier: TokenVerifier;
  readonly refreshTokens: RefreshTokenCodec;
  readonly families: Pick<RefreshStore, 'findLive'>;
  /** Undefined: every issuer of ours, or for a request of the gateway the one it came to. */
  readonly issuer: string | undefined;
  /** How long an answer about an access token may be remembered at most, in seconds. */
  readonly cacheSeconds: number;
}

/** RFC 7662 §2.2. An inactive token has nothing else to say about it. */
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
  readonly role?: string[];
  readonly jti?: string;
  readonly cacheSeconds?: number;
}

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly retryAfterSeconds: number;
}

/** What becomes of one token of a batch. */
type Outcome = {
  readonly outcome:
    | { readonly case: 'result'; readonly value: IntrospectionResult }
    | { readonly case: 'failure'; readonly value: Failure };
};

const inactive = { active: false } as const;
const largestBatch = 1_000;
/** Judged before others get their turn: some 2 ms of signatures to verify. */
const sliceSize = 64;

/**
 * Says whether a token is good. Whatever is wrong with it reads the same; trouble of our own is thrown and never reads
 * as inactive.
 */
export async function introspect(
  parts: IntrospectionParts,
  request: IntrospectRequest,
  context: CallContext,
): Promise<IntrospectionResult> {
  if (request.token === '') throw new OAuthError('invalid_request', 'Invalid request.');
  const view = await viewOf(parts, request, context);
  const { credentials, caller } = request;
  const asking = {
    view,
    issuer: parts.issuer ?? (caller?.issuer || undefined),
    clientId: credentials?.clientId,
    ipAddress: caller?.ipAddress ?? '',
  };
  return judge(parts, request.token, asking, context);
}

/** The same for many tokens: in order, each by itself. */
export async function introspectBatch(
  parts: IntrospectionParts,
  { tokens }: BatchIntrospectRequest,
  context: CallContext,
): Promise<Outcome[]> {
  if (tokens.length > largestBatch) {
    throw new ConnectError(`At most ${largestBatch} tokens can be asked for at once.`, Code.InvalidArgument);
  }
  const view = await viewOf(parts, {}, context);
  const asking = { view, issuer: parts.issuer, clientId: undefined, ipAddress: '' };
  const outcomes: Outcome[] = [];
  for (let start = 0; start < tokens.length; start += sliceSize) {
    if (start > 0) await breathe();
    const slice = tokens.slice(start, start + sliceSize);
    outcomes.push(...(await Promise.all(slice.map((token) => outcomeOf(parts, token, asking, context)))));
  }
  return outcomes;
}

async function outcomeOf(
  parts: IntrospectionParts,
  token: string,
  asking: Asking,
  context: CallContext,
): Promise<Outcome> {
  try {
    return { outcome: { case: 'result', value: await judge(parts, token, asking, context) } };
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const { code, message, retryAfterSeconds = 0 } = error;
    return { outcome: { case: 'failure', value: { code, message, retryAfterSeconds } } };
  }
}

interface Asking {
  readonly view: View;
  /** The one issuer whose access tokens are good here; undefined: every issuer of ours. */
  readonly issuer: string | undefined;
  /** The client on whose behalf the gateway asks. */
  readonly clientId: string | undefined;
  readonly ipAddress: string;
}

/** The one decision, whoever asks and by whatever protocol. */
async function judge(
  parts: IntrospectionParts,
  token: string,
  asking: Asking,
  context: CallContext,
): Promise<IntrospectionResult> {
  const reference = parts.refreshTokens.decode(token);
  if (reference === undefined) {
    const claims = await parts.verifier.accessToken(token, () => context.onward());
    if (claims === undefined || claims.iss !== (asking.issuer ?? claims.iss)) return inactive;
    const { tenant_id: tenantId, client_id: clientId, aud: audience } = claims;
    if (!asking.view.accessToken({ tenantId, clientId, audience })) {
      return deny(parts, asking, context, tenantId);
    }
    return describeAccessToken(parts, claims);
  }
  const family = await parts.families.findLive(reference.familyId, reference.generation);
  // A family may be refreshed through every host, unless one issuer is configured.
  if (family === undefined || family.issuer !== (parts.issuer ?? family.issuer)) return inactive;
  const { tenantId, clientId, resource: audience } = family;
  if (!asking.view.refreshToken({ tenantId, clientId, audience })) {
    return deny(parts, asking, context, tenantId);
  }
  return (await isUsable(parts.directory, family, context)) ? describeFamily(family) : inactive;
}

/** A good token that is not the asking client's to see reads like any bad one. */
function deny(
  { audit }: IntrospectionParts,
  { clientId, ipAddress }: Asking,
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

/** A refresh token is good only as long as a refresh would take it: user, application and tenant count. */
async function isUsable(
  directory: DirectoryClient,
  { clientId, tenantId, userId, authTime }: LiveFamily,
  context: CallContext,
): Promise<boolean> {
  const [client, user] = await Promise.all([
    directory.application(clientId, context.onward()),
    directory.user(tenantId, userId, context.onward()),
  ]);
  if (client === undefined || !directory.isActive(client, authTime)) return false;
  if (user === undefined || !directory.isActive(user, authTime)) return false;
  return directory.mayUse(client.application, user) && mayUseRefreshTokens(client.application);
}

/** It lives until it expires, but the key that signed it may be withdrawn, so it is not remembered for all that time. */
function describeAccessToken(
  { kit, cacheSeconds }: IntrospectionParts,
  claims: AccessTokenClaims,
): ActiveToken {
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
    aud: claims.aud,
    role: [...claims.role],
    jti: claims.jti,
    cacheSeconds: Math.max(0, Math.min(cacheSeconds, claims.exp - epochSeconds(kit.clock) - 1)),
  };
}

/** Its next use ends it, so the answer is not to be remembered. */
function describeFamily(family: LiveFamily): ActiveToken {
  return {
    active: true,
    kind: TokenKind.REFRESH_TOKEN,
    sub: family.userId,
    clientId: family.clientId,
    scope: family.scopes.join(' '),
    exp: BigInt(family.expiresAt),
    iat: BigInt(family.issuedAt),
    iss: family.issuer,
    tenantId: family.tenantId,
  };
}
