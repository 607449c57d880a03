import { eventBase } from '@tessera/audit';
import { adminRoles } from '@tessera/oauth';
import { Code, ConnectError, type CallContext, type Handlers } from '@tessera/rpc';
import type { UsersService } from '@tessera/proto-gen/admin-users';
import { passwordProblem } from '../ground/passwords/password-policy.ts';
import type { Passwords } from '../ground/passwords/passwords.ts';
import { deletedNames } from '../deleted/deleted-records.postgres.ts';
import { deletedUserCalls } from './deleted-user-calls.ts';
import { notFound, refuseSelf } from '../ground/refusals.ts';
import { listPeople } from './list-people.ts';
import type { RecordCallsDeps } from '../records/record-calls.ts';
import { updatedEntry, type Entry } from '../records/record-form.ts';
import { statusAlone } from '../records/status-alone.ts';
import { digested, refuseOtherOwner, writerOf } from '../records/writers.ts';
import { findRecord } from '../store/read-records.postgres.ts';
import type { RecordTransaction } from '../store/store.ts';
import { desiredUser } from '../users/desired.ts';
import { user } from '../users/fields.ts';
import { normalizeIdentifier } from '../users/identifiers.ts';
import { lastSignIns } from '../users/lists/last-sign-ins.postgres.ts';
import {
  checkAmongOthers,
  checkGivenUserId,
  entryOfNewUser,
  messageOfUser,
  updatedUser,
  userForm,
} from './forms/user-form.ts';

export interface UserCallsDeps extends RecordCallsDeps {
  readonly passwords: Passwords;
  /** In characters. */
  readonly passwordMinLength: number;
  readonly newUserId: () => string;
  /** Throws FailedPrecondition if no link can be mailed to somebody with this e-mail address. */
  readonly requireMail: (email: string) => void;
}

/** The calls on people that are about their records; how they sign in is not of this room. */
export type UserCalls = Pick<
  Handlers<typeof UsersService>,
  'get' | 'list' | 'create' | 'update' | 'delete' | 'listDeleted' | 'undelete'
>;

/**
 * In place of the hash of a password that is only validated: another one than the person has, as its salt would make
 * it.
 */
const notHashed = '';

/** The calls that read and change one person. */
export function userCalls({
  database,
  records,
  passwords,
  passwordMinLength,
  newUserId,
  requireMail,
}: UserCallsDeps): UserCalls {
  /** The hash of a password that is given; before the transaction, which must be short. */
  async function hashOf(
    given: Entry,
    { tenantId, validateOnly }: { readonly tenantId: string; readonly validateOnly: boolean },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { password } = userForm.parse(user.pick({ password: true }), { password: given['password'] });
    if (password === undefined) return undefined;
    const problem = passwordProblem(password, passwordMinLength);
    if (problem !== undefined) userForm.check((report) => report(['password'], problem));
    return validateOnly ? notHashed : passwords.renewed(password, tenantId, signal);
  }

  return {
    async get({ tenantId, userId }) {
      const found = await findRecord(database, 'user', tenantId, userId);
      if (found === undefined) throw notFound('The user');
      const [lastSignIn] = await lastSignIns(database, tenantId, [userId]);
      return messageOfUser(found, lastSignIn?.at);
    },

    list: (request) => listPeople(database, request),

    async create({ user: given, newPerson, mailable, owner: named, ...request }, context) {
      const entry = entryOfNewUser(given);
      const owner = writerOf(named);
      refuseOtherOwner('user', userForm.ownerIn(given), [owner]);
      const declared = userForm.parse(user, entry);
      if (mailable) requireMail(declared.email ?? '');
      const hashed = await hashOf(entry, request, context.signal);
      const id = declared.userId ?? newUserId();
      const created = await records.create(
        'user',
        {
          ...request,
          id,
          content: { ...request, ...digested(owner), newPerson, record: entry },
          async draft(around) {
            if (declared.userId !== undefined) await checkGivenUserId(id, around);
            await checkAmongOthers(declared, id, around);
            if (!newPerson) await refuseNamesake(declared.username, around);
            const passwordHash = hashed ?? declared.passwordHash;
            return desiredUser(declared, undefined, { owner, passwordHash, newUserId: () => id });
          },
        },
        context,
      );
      return messageOfUser(created);
    },

    async update({ user: given, updateMask, owner: named, ...request }, context) {
      const entry = userForm.entryOf(given);
      const owner = writerOf(named);
      const paths = userForm.pathsOf(updateMask, entry);
      const hashed = await hashOf(updatedEntry({}, entry, paths), request, context.signal);
      const { userId: id = '', etag = '', status = '' } = given ?? {};
      if (paths.some(([first]) => first === 'status') && !['', 'active'].includes(status))
        refuseSelf(eventBase(context), id, { deed: 'disable or lock yourself' });
      const updated = await records.update(
        'user',
        {
          ...request,
          writer: owner,
          saidOwner: userForm.ownerIn(given),
          id,
          etag,
          status: statusAlone(userForm, user.shape.status, entry, paths),
          async draft(present, around) {
            const declared = userForm.parse(user, updatedUser(present, entry, paths));
            await checkAmongOthers(declared, id, around, present);
            refuseLostRoles(present, declared, context);
            const passwordHash = hashed ?? declared.passwordHash;
            return desiredUser(declared, present, { owner, passwordHash, newUserId });
          },
        },
        context,
      );
      return messageOfUser(updated);
    },

    async delete({ userId: id, owner, ...request }, context) {
      refuseSelf(eventBase(context), id, { deed: 'delete yourself', remedy: 'Close your account' });
      const impact = await records.delete('user', { ...request, writer: writerOf(owner), id }, context);
      return impact === undefined ? {} : { impact };
    },

    ...deletedUserCalls({ database, records }),
  };
}

/** Throws FailedPrecondition for administrators who would lose what they administer with. */
function refuseLostRoles(
  present: { readonly userId: string; readonly roles: readonly string[] },
  { roles }: { readonly roles: readonly string[] },
  context: CallContext,
): void {
  if (present.roles.some((role) => adminRoles.has(role) && !roles.includes(role)))
    refuseSelf(eventBase(context), present.userId, { deed: 'give up a role of yours that administers' });
}

/**
 * Throws FailedPrecondition if somebody with that user name was deleted and can be restored: applications store the
 * `sub` of people.
 */
async function refuseNamesake(username: string, { tx, tenantId }: RecordTransaction): Promise<void> {
  const names = await deletedNames(tx, 'user', tenantId, [normalizeIdentifier(username)]);
  if (names.size === 0) return;
  throw new ConnectError(
    'A person with this user name was deleted within the last 30 days. Restore them, or say that this is a new person, with another `sub`.',
    Code.FailedPrecondition,
  );
}
