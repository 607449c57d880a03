import { applicationById, isActive, usersById, type ApplicationRecord } from '@tessera/directory-client';
import type { DirectoryService, User } from '@tessera/proto-gen/directory';
import type { CallOptions, Client } from '@tessera/rpc';
import type { ListedConsent } from './consents.postgres.ts';

/**
 * Whether a consent counts: the application, its tenant and the person are active and have been since it was given; the
 * person since the sign-in with which they gave it, so that what ends their sign-ins ends their consents, also those
 * that such a sign-in gave a moment later. Undefined: there is no such record.
 */
export function consentCounts(
  record: ApplicationRecord | undefined,
  user: User | undefined,
  { tenantId, grantedAt, signedInAt }: Pick<ListedConsent, 'tenantId' | 'grantedAt' | 'signedInAt'>,
): boolean {
  if (record?.tenant.tenantId !== tenantId || user === undefined) return false;
  return isActive(record, grantedAt) && isActive(user, signedInAt);
}

/** A consent that counts, with the name of the person. */
export interface CountingConsent {
  readonly consent: ListedConsent;
  readonly username: string;
}

/** Those of a tenant that count, of what a store found. */
export type SelectCounting = (
  tenantId: string,
  found: readonly ListedConsent[],
  call: () => CallOptions,
) => Promise<readonly CountingConsent[]>;

export function createSelectCounting(
  directory: Pick<Client<typeof DirectoryService>, 'batchGetUsers' | 'getApplication'>,
): SelectCounting {
  return async (tenantId, found, call) => {
    const ids = found.map(({ userId }) => userId);
    const users = await usersById(directory, tenantId, ids, call());
    const records = new Map<string, ApplicationRecord | undefined>();
    for (const { clientId } of found)
      if (!records.has(clientId)) records.set(clientId, await applicationById(directory, clientId, call()));
    return found
      .filter((consent) => consentCounts(records.get(consent.clientId), users.get(consent.userId), consent))
      .map((consent) => ({ consent, username: users.get(consent.userId)?.username ?? '' }));
  };
}
