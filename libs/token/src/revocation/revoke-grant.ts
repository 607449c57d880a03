import type { DirectoryClient } from '@tessera/directory-client';
import { firstCharacters, withoutTokens } from '@tessera/telemetry';
import { type AuditBatch } from '@tessera/audit';
import { type CallContext } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import type { RevokeRequest } from '@tessera/proto-gen/token';
import { authenticateClient } from '../authenticate-client.ts';
import { requestedIssuer, servesFamiliesOf } from '../requested-issuer.ts';
import type { RefreshTokenCodec } from '../refresh-token-format.ts';
import type { RefreshStore } from '../store/store.ts';
import type { TokenVerifier } from '../verification/token-verifier.ts';

export interface RevocationDeps {
  readonly directory: DirectoryClient;
  readonly audit: Pick<AuditBatch, 'add'>;
  readonly verifier: TokenVerifier;
  readonly refreshTokens: RefreshTokenCodec;
  readonly families: Pick<RefreshStore, 'revoke' | 'issuerOf'>;
  /** The shared issuer, if it is configured. */
  readonly issuer: string | undefined;
}

interface Owner {
  readonly tenantId: string;
  /** Undefined if the caller has no credentials. */
  readonly clientId: string | undefined;
}

/** Characters. */
const longestReason = 512;

/**
 * Revokes the family of a refresh token (RFC 7009), whichever generation is presented. Revoking again succeeds and
 * changes nothing. A client with credentials can revoke only its own tokens, a caller without credentials only those of
 * the issuer that it asks at. Resolves once the revocation is durable.
 */
export async function revoke(
  deps: RevocationDeps,
  request: RevokeRequest,
  context: CallContext,
): Promise<void> {
  if (request.token === '') throw new OAuthError('invalid_request', 'The parameter token is missing.');
  const owner = await authenticateOwner(deps, request, context);
  const reference = deps.refreshTokens.decode(request.token);
  if (reference === undefined) return rejectUnknown(deps, request, owner, context);
  if (request.credentials === undefined && !(await isServedHere(deps, request, reference.familyId))) {
    throw unknownToken();
  }
  const outcome = await deps.families.revoke({
    familyId: reference.familyId,
    owner,
    reason: sanitizedReason(request.reason),
    trail: { requestId: context.requestId, ipAddress: request.caller?.ipAddress ?? '' },
  });
  if (outcome === 'unknown' && !request.ignoreUnknown) throw unknownToken();
}

/** Whether a family belongs to the issuer that the request was sent to. The issuer of a family never changes. */
async function isServedHere(
  deps: RevocationDeps,
  { caller }: RevokeRequest,
  familyId: string,
): Promise<boolean> {
  const issuer = await deps.families.issuerOf(familyId);
  if (issuer === undefined) return false;
  const requested = { issuer: requestedIssuer(deps.issuer, caller), tenantId: caller?.tenantId ?? '' };
  return servesFamiliesOf(deps, requested, issuer);
}

/**
 * The reason as it is written to the audit trail. People type it and may paste the token itself, so tokens are removed;
 * no text prevents the revocation.
 */
export function sanitizedReason(reason: string): string {
  const printable = reason.toWellFormed().replace(/\p{Cc}/gu, ' ');
  return firstCharacters(withoutTokens(printable), longestReason);
}

/**
 * The tenant at whose own issuer the gateway admitted the caller without credentials; undefined at the shared one. A
 * public client is only identified: RFC 7009 §2.1 lets it revoke its own tokens, but it cannot pass where the contract
 * requires credentials.
 */
async function authenticateOwner(
  deps: RevocationDeps,
  { credentials, caller, ignoreUnknown }: RevokeRequest,
  context: CallContext,
): Promise<Owner | undefined> {
  if (credentials === undefined) {
    const tenantId = caller?.tenantId ?? '';
    return tenantId === '' ? undefined : { tenantId, clientId: undefined };
  }
  const accepts = ignoreUnknown ? 'public' : 'confidential';
  const { tenantId, clientId } = await authenticateClient(deps, { credentials, caller }, context, accepts);
  return { tenantId, clientId };
}

/**
 * Access tokens cannot be revoked, and an error is better than a false success (RFC 7009 §2.2.1). The error is only for
 * the client's own tokens, as it must not learn whether another client's token is active.
 */
async function rejectUnknown(
  deps: RevocationDeps,
  request: RevokeRequest,
  owner: Owner | undefined,
  context: CallContext,
): Promise<void> {
  if (!request.ignoreUnknown) throw unknownToken();
  const claims = await deps.verifier.accessToken(request.token, () => context.onward());
  if (claims === undefined || claims.client_id !== owner?.clientId) return;
  if (claims.tenant_id !== owner.tenantId) return;
  throw new OAuthError('unsupported_token_type', 'Access tokens cannot be revoked; they expire.');
}

function unknownToken(): OAuthError {
  return new OAuthError('invalid_request', 'The token is not a refresh token of this server.');
}
