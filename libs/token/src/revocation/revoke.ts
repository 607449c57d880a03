import type { DirectoryClient } from '@tessera/directory-client';
import { firstCharacters, withoutTokens } from '@tessera/telemetry';
import { type AuditBatch } from '@tessera/audit';
import { type CallContext } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import type { Application } from '@tessera/proto-gen/directory';
import type { RevokeRequest } from '@tessera/proto-gen/token';
import { authenticateClient, isConfidential } from '../client-authentication.ts';
import type { RefreshTokenCodec } from '../refresh-token-format.ts';
import type { RefreshStore } from '../store/store.ts';
import type { TokenVerifier } from '../verification/token-verifier.ts';

export interface RevocationParts {
  readonly directory: DirectoryClient;
  readonly audit: Pick<AuditBatch, 'add'>;
  readonly verifier: TokenVerifier;
  readonly refreshTokens: RefreshTokenCodec;
  readonly families: Pick<RefreshStore, 'revoke'>;
}

interface Owner {
  readonly tenantId: string;
  readonly clientId: string;
}

/** Characters. */
const longestReason = 512;

/**
 * Revokes the family of a refresh token, whichever generation is presented. Revoking again succeeds and changes
 * nothing. With credentials only the client's own tokens exist. Resolves once the revocation is durable.
 */
export async function revoke(
  parts: RevocationParts,
  request: RevokeRequest,
  context: CallContext,
): Promise<void> {
  if (request.token === '') throw new OAuthError('invalid_request', 'The parameter token is missing.');
  const owner = await identifyOwner(parts, request, context);
  const reference = parts.refreshTokens.decode(request.token);
  if (reference === undefined) return refuseUnknown(parts, request, owner, context);
  const outcome = await parts.families.revoke({
    familyId: reference.familyId,
    owner,
    reason: plainReason(request.reason),
    trail: { requestId: context.requestId, ipAddress: request.caller?.ipAddress ?? '' },
  });
  if (outcome === 'unknown' && !request.ignoreUnknown) throw unknownToken();
}

/**
 * It is kept for the audit and shown to people there. Typed by people, who paste the token they mean; whatever they typed,
 * the token has to end.
 */
function plainReason(reason: string): string {
  const printable = reason.toWellFormed().replace(/\p{Cc}/gu, ' ');
  return firstCharacters(withoutTokens(printable), longestReason);
}

/**
 * Undefined when the gateway admitted the caller without credentials. A public client is identified only: RFC 7009 §2.1
 * lets it revoke its own tokens; where the contract asks for credentials it has none.
 */
async function identifyOwner(
  parts: RevocationParts,
  { credentials, caller, ignoreUnknown }: RevokeRequest,
  context: CallContext,
): Promise<Owner | undefined> {
  if (credentials === undefined) return undefined;
  const admits = (application: Application) => ignoreUnknown || isConfidential(application);
  const { tenantId, clientId } = await authenticateClient(parts, { credentials, caller }, context, admits);
  return { tenantId, clientId };
}

/**
 * RFC 7009 §2.2.1: access tokens live until they expire, and saying so is better than a false success. A client learns
 * that of its own tokens alone: whether another's is alive is not its to know.
 */
async function refuseUnknown(
  parts: RevocationParts,
  request: RevokeRequest,
  owner: Owner | undefined,
  context: CallContext,
): Promise<void> {
  if (!request.ignoreUnknown) throw unknownToken();
  const claims = await parts.verifier.accessToken(request.token, () => context.onward());
  if (claims === undefined || claims.client_id !== owner?.clientId) return;
  if (claims.tenant_id !== owner.tenantId) return;
  throw new OAuthError('unsupported_token_type', 'Access tokens cannot be revoked; they expire.');
}

function unknownToken(): OAuthError {
  return new OAuthError('invalid_request', 'The token is not a refresh token of this server.');
}
