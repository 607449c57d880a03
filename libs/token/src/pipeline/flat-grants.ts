import { userGrantFields } from '@tessera/oauth';
import type { AuthorizationGrant } from '@tessera/proto-gen/authorize';
import type { ApprovedGrant } from '@tessera/proto-gen/device';
import { UserGrantSchema, type UserGrant } from '@tessera/proto-gen/oauth';
import { create } from '@tessera/rpc';

/** An answer of `authorize` or `device`. */
interface GrantAnswer {
  readonly userGrant?: UserGrant | undefined;
  readonly grant?: AuthorizationGrant | ApprovedGrant | undefined;
}

/**
 * The grant of an answer. Compatibility until 0.3: services of version 0.1 send a flat one, which `device` sends
 * without tenant and client.
 */
export function userGrantOf(
  { userGrant, grant }: GrantAnswer,
  client: { readonly tenantId: string; readonly clientId: string } = { tenantId: '', clientId: '' },
): UserGrant | undefined {
  if (userGrant !== undefined || grant === undefined) return userGrant;
  const { tenantId, clientId } = client;
  return create(UserGrantSchema, userGrantFields({ tenantId, clientId, ...grant }));
}
