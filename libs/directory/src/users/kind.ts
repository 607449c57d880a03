import { isGivenUserId } from '@tessera/oauth';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { entryOf } from '../fields/field.ts';
import { listedKind } from '../kind-of-records.ts';
import { deleteUsers, putUsers } from './commands.postgres.ts';
import { user, userFields, userReference, type UserRecord } from './fields.ts';
import { userTable } from './table.postgres.ts';

// They refer only to kinds that take the lock alone.
export const userKind = listedKind(
  { list: 'users', key: 'userId', name: 'username', lock: 'together', isStoredElsewhere: true },
  {
    service: UsersService,
    table: userTable,
    entry: user,
    fields: userFields,
    reference: userReference,
    written: writtenUser,
    put: putUsers,
    remove: deleteUsers,
    endings: {
      username: 'renewed',
      email: 'links',
      name: 'renewed',
      phoneNumber: 'renewed',
      attributes: 'renewed',
      standardClaims: 'renewed',
      roles: 'refused',
      status: 'all',
      passwordHash: 'all',
      declaredTotp: 'renewed',
      declaredPasskeys: 'renewed',
      declaredIdentities: 'renewed',
      owner: 'nothing',
      deleted: 'all',
    },
  },
);

/** Identifiers that were made here are those of new people elsewhere. */
function writtenUser(user: UserRecord): object {
  const { username, ...fields } = entryOf(userFields, user);
  const { userId, standardClaims } = user;
  return { username, ...(isGivenUserId(userId) && { userId }), ...fields, ...standardClaims };
}
