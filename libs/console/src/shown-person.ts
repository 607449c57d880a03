import type { User } from '@tessera/proto-gen/admin-users';

const statuses: Readonly<Record<string, string>> = {
  active: 'Active',
  disabled: 'Disabled',
  locked: 'Locked by an administrator',
};

/** The status of a person, as a sentence of the languages. */
export function statusOf({ status }: Pick<User, 'status'>): string {
  return statuses[status] ?? status;
}

/** How a person is called. */
export function nameOf({
  name,
  username,
  email,
  userId,
}: Pick<User, 'name' | 'username' | 'email' | 'userId'>): string {
  return name || username || email || userId;
}
