import type { AuditBatch } from '@tessera/audit';
import type { DirectoryClient } from '@tessera/directory-client';
import { OAuthError } from '@tessera/oauth';
import type { AuthorizeService } from '@tessera/proto-gen/authorize';
import type { EndGrantSessionRequest } from '@tessera/proto-gen/token';
import type { CallContext, Client } from '@tessera/rpc';
import { authenticateClient } from '../authenticate-client.ts';
import type { RefreshTokenCodec } from '../refresh-token-format.ts';
import type { RedemptionStore, RefreshStore } from '../store/store.ts';

export interface EndSessionDeps {
  readonly directory: DirectoryClient;
  readonly audit: Pick<AuditBatch, 'add'>;
  readonly refreshTokens: RefreshTokenCodec;
  readonly families: Pick<RefreshStore, 'endOf' | 'revoke'>;
  readonly sessionEnds: Pick<RedemptionStore, 'noteSessionEnd'>;
  readonly authorize: Pick<Client<typeof AuthorizeService>, 'endSessionOfGrant'>;
}

/**
 * Signs a person out as adapters of Keycloak do: with a refresh token of their client. It ends the session of the
 * token, or for a token that lives without one its family. A token that has been superseded or has expired will do, as
 * the person wants to be signed out. Throws `invalid_grant` for a token that is unknown or another client's. Resolves
 * once the end is durable, and may be repeated.
 */
export async function endGrantSession(
  deps: EndSessionDeps,
  { credentials, caller, refreshToken }: EndGrantSessionRequest,
  context: CallContext,
): Promise<void> {
  if (credentials === undefined) throw new OAuthError('invalid_client', 'Client authentication is required.');
  if (refreshToken === '') throw new OAuthError('invalid_request', 'The parameter refresh_token is missing.');
  const client = await authenticateClient(deps, { credentials, caller }, context, 'public');
  const { tenantId, clientId } = client;
  const { familyId = '' } = deps.refreshTokens.decode(refreshToken) ?? {};
  const family = familyId === '' ? undefined : await deps.families.endOf({ tenantId, clientId, familyId });
  if (family === undefined) throw new OAuthError('invalid_grant', 'The refresh token is not valid.');
  const { endsWith } = family;
  const trail = { requestId: context.requestId, ipAddress: caller?.ipAddress ?? '' };
  if (endsWith === undefined) {
    await deps.families.revoke({ familyId, owner: { tenantId, clientId }, reason: '', trail });
    return;
  }
  const ending = { tenantId, sessionId: endsWith, clientId, ipAddress: trail.ipAddress };
  const { session } = await deps.authorize.endSessionOfGrant(ending, context.onward());
  const { sessionId: last = endsWith, earlierSessionIds = [] } = session ?? {};
  for (const sessionId of new Set([endsWith, last, ...earlierSessionIds]))
    await deps.sessionEnds.noteSessionEnd(tenantId, sessionId, trail);
}
