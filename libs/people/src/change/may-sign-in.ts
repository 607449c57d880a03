import type { PersonId } from '@tessera/directory/ground';
import type { DirectoryStore, FoundUser } from '@tessera/directory/records';

/** A person who has proved who they are. */
export interface SignedIn {
  readonly found: FoundUser;
  /** Milliseconds since the Unix epoch, by the clock of the records. */
  readonly signedInAt: number;
}

export function maySignIn({ user, tenant }: FoundUser): boolean {
  return user.status === 'active' && tenant.status === 'active';
}

/** A person who may sign in; undefined for all others. */
export async function findActive(
  store: Pick<DirectoryStore, 'findUser'>,
  { tenantId, userId }: PersonId,
): Promise<FoundUser | undefined> {
  const found = await store.findUser(tenantId, userId);
  return found !== undefined && maySignIn(found) ? found : undefined;
}
