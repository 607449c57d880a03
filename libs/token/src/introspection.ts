import type { DirectoryClient } from '@tessera/directory-client';
import type { AuditBatch, CallContext } from '@tessera/kit';
import { OAuthError, type AccessTokenClaims } from '@tessera/oauth';
import type { Application } from '@tessera/proto-gen/directory';
import { TokenKind, type IntrospectRequest } from '@tessera/proto-gen/token';
import { authenticateClient, isConfidential } from './client.ts';
import type { RefreshTokenCodec } from './refresh-token.ts';
import type { LiveFamily, RefreshStore } from './store.ts';
import type { TokenVerifier } from './token-verifier.ts';

export interface IntrospectionParts {
  readonly directory: DirectoryClient;
  readonly audit: Pick<AuditBatch, 'add'>;
  readonly verifier: TokenVerifier;
  readonly refreshTokens: RefreshTokenCodec;
  readonly families: Pick<RefreshStore, 'findLive'>;
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
}

const inactive = { active: false } as const;

/**
 * Says whether a token is good. Whatever is wrong with it reads the same; trouble of our own is thrown and never reads
 * as inactive. A caller with credentials sees its own tokens and those made for its API resources, of its tenant.
 */
export async function introspect(
  parts: IntrospectionParts,
  request: IntrospectRequest,
  context: CallContext,
): Promise<IntrospectionResult> {
  if (request.token === '') throw new OAuthError('invalid_request', 'Invalid request.');
  const asking = await identifyAsking(parts, request, context);
  const reference = parts.refreshTokens.decode(request.token);
  if (reference === undefined) {
    const claims = await parts.verifier.accessToken(request.token, context.onward());
    if (claims === undefined) return inactive;
    if (maySeeAccessToken(asking, claims)) return describeAccessToken(claims);
    return deny(parts, request, context, claims.tenant_id);
  }
  const family = await parts.families.findLive(reference.familyId, reference.generation);
  if (family === undefined) return inactive;
  if (!isOwn(asking, family)) return deny(parts, request, context, family.tenantId);
  return (await isOfActiveParties(parts.directory, family, context)) ? describeFamily(family) : inactive;
}

/** Undefined: the gateway or an internal service asks, which decided by itself that it may. */
async function identifyAsking(
  parts: IntrospectionParts,
  { credentials, caller }: IntrospectRequest,
  context: CallContext,
): Promise<Application | undefined> {
  if (credentials === undefined) return undefined;
  return authenticateClient(parts, { credentials, caller }, context, isConfidential);
}

/** A good token that is not the asking client's to see reads like any bad one. */
function deny(
  { audit }: IntrospectionParts,
  { credentials, caller }: IntrospectRequest,
  context: CallContext,
  tenantId: string,
): IntrospectionResult {
  audit.add({
    event: 'introspect.denied',
    outcome: 'failure',
    reason: 'foreign_token',
    tenantId,
    clientId: credentials?.clientId ?? '',
    requestId: context.requestId,
    ipAddress: caller?.ipAddress ?? '',
  });
  return inactive;
}

function isOwn(asking: Application | undefined, token: { tenantId: string; clientId: string }): boolean {
  return asking === undefined || (asking.tenantId === token.tenantId && asking.clientId === token.clientId);
}

function maySeeAccessToken(asking: Application | undefined, claims: AccessTokenClaims): boolean {
  if (isOwn(asking, { tenantId: claims.tenant_id, clientId: claims.client_id })) return true;
  return asking?.tenantId === claims.tenant_id && asking.introspectAudiences.includes(claims.aud);
}

/** A refresh token is good only as long as it could be used: user, application and tenant count. */
async function isOfActiveParties(
  directory: DirectoryClient,
  { clientId, tenantId, userId }: LiveFamily,
  context: CallContext,
): Promise<boolean> {
  const [client, user] = await Promise.all([
    directory.application(clientId, context.onward()),
    directory.user(tenantId, userId, context.onward()),
  ]);
  return client !== undefined && user !== undefined && directory.isActive(client) && directory.isActive(user);
}

function describeAccessToken(claims: AccessTokenClaims): ActiveToken {
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
  };
}

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
