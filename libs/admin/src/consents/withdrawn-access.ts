import { DeleteConsentResponseSchema, type ConsentsService } from '@tessera/proto-gen/admin-consents';
import type { GrantsService } from '@tessera/proto-gen/admin-grants';
import { OAuthError, outcomeUnknown } from '@tessera/oauth';
import { Code, ConnectError, create, type CallOptions, type Client } from '@tessera/rpc';

type Consents = Client<typeof ConsentsService>;
type Grants = Pick<Client<typeof GrantsService>, 'revokeGrants'>;

/** For people, in the audit trail of `token`. */
const reason = 'consent withdrawn';

/**
 * The consents of `authorize`. When one is deleted, `token` revokes what relied on it, as on the account page: after
 * it, so that an application that asks meanwhile has to ask the person.
 */
export function withdrawingAccess(consents: Consents, grants: Grants): Consents {
  return {
    list: async (request, call) => consents.list(request, call),
    async delete(request, call) {
      const { tenantId = '', userId = '', clientId = '' } = request;
      const absent = await absence(consents.delete(request, call));
      const revokedGrants = await revokedOf(grants, { tenantId, userId, clientId, reason }, call);
      // A repeated call finds the consent gone, and perhaps grants that are left.
      if (absent !== undefined && revokedGrants === 0) throw absent;
      return create(DeleteConsentResponseSchema, { revokedGrants });
    },
  };
}

/** The error that says that there is no consent; undefined if it was deleted. */
async function absence(deleted: Promise<unknown>): Promise<ConnectError | undefined> {
  try {
    await deleted;
    return undefined;
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return error;
    throw error;
  }
}

async function revokedOf(
  grants: Grants,
  whose: Parameters<Grants['revokeGrants']>[0],
  call?: CallOptions,
): Promise<number> {
  let revoked = 0;
  try {
    for (let more = true; more;) {
      const answer = await grants.revokeGrants(whose, call);
      revoked += answer.revoked;
      more = answer.more;
    }
    return revoked;
  } catch (error) {
    // The consent is withdrawn, and grants may be left.
    throw error instanceof OAuthError && error.code === 'temporarily_unavailable'
      ? outcomeUnknown(error)
      : error;
  }
}
