import { Code, invalidFields, type Handlers } from '@tessera/rpc';
import type { DirectoryAdminService } from '@tessera/proto-gen/directory';
import { UserRecordSchema } from '@tessera/proto-gen/records';
import { apiOwner } from '../declared/owner.ts';
import { passwordProblem } from '../credentials/password-policy.ts';
import type { Passwords } from '../credentials/passwords.ts';
import { entryOf, valuesOf } from '../fields/field.ts';
import { notFound } from '../messages.ts';
import type { Outcome, RecordChanges } from '../records/change-records.ts';
import { pageRequest } from '../records/page-token.ts';
import { listed } from '../records/record-calls.ts';
import { recordForm, updatedEntry, type Entry } from '../records/record-form.ts';
import type { AdminStore, RecordTransaction } from '../store/store.ts';
import { checkUser } from './checks.ts';
import { desiredUser } from './desired.ts';
import { user, userFields, type DeclaredUser, type UserRecord } from './fields.ts';
import { identifiersOf, normalizeIdentifier } from './identifiers.ts';

export interface UserCallsDeps {
  readonly store: Pick<AdminStore, 'findRecord' | 'listRecords'>;
  readonly records: RecordChanges;
  readonly passwords: Passwords;
  /** In characters. */
  readonly passwordMinLength: number;
  readonly newUserId: () => string;
}

type UserCalls = 'getUser' | 'listUsers' | 'createUser' | 'updateUser' | 'deleteUser';

const form = recordForm(UserRecordSchema, 'user', Object.keys(user.shape));

/** The calls that read and change one person. */
export function userCalls({
  store,
  records,
  passwords,
  passwordMinLength,
  newUserId,
}: UserCallsDeps): Pick<Handlers<typeof DirectoryAdminService>, UserCalls> {
  /** The hash of a password that is given; before the transaction, which must be short. */
  async function hashOf(given: Entry, validateOnly: boolean): Promise<string | undefined> {
    const { password } = form.parse(user.pick({ password: true }), { password: given['password'] });
    if (password === undefined) return undefined;
    const problem = passwordProblem(password, passwordMinLength);
    if (problem !== undefined) form.check((report) => report(['password'], problem));
    return validateOnly ? undefined : passwords.renewed(password);
  }

  return {
    async getUser({ tenantId, userId }) {
      const found = await store.findRecord('user', tenantId, userId);
      if (found === undefined) throw notFound('The user');
      return messageOf(found);
    },

    async listUsers({ tenantId, search, ...page }) {
      const request = pageRequest({ ...page, search: normalizeIdentifier(search) });
      const { found, nextPageToken } = await listed(store, 'user', tenantId, request);
      return { users: found.map(messageOf), nextPageToken };
    },

    async createUser({ user: given, ...request }, context) {
      const entry = form.entryOf(given);
      const declared = form.parse(user, entry);
      const hashed = await hashOf(entry, request.validateOnly);
      const id = newUserId();
      const created = await records.create(
        'user',
        {
          ...request,
          id,
          isRepeat: ({ username }) =>
            normalizeIdentifier(username) === normalizeIdentifier(declared.username),
          async draft(around) {
            await check(declared, id, around);
            const passwordHash = hashed ?? declared.passwordHash;
            return desiredUser(declared, undefined, { owner: apiOwner, passwordHash, newUserId: () => id });
          },
        },
        context,
      );
      return messageOf(created);
    },

    async updateUser({ user: given, updateMask, ...request }, context) {
      const entry = form.entryOf(given);
      const paths = form.pathsOf(updateMask, entry);
      const changed = updatedEntry({}, entry, paths);
      const hashed = await hashOf(changed, request.validateOnly);
      const { userId: id = '', etag = '' } = given ?? {};
      const updated = await records.update(
        'user',
        {
          ...request,
          id,
          etag,
          async draft(present, around) {
            const declared = form.parse(user, updatedEntry(entryOfUser(present), entry, paths));
            await check(declared, id, around);
            const passwordHash = hashed ?? declared.passwordHash;
            return desiredUser(declared, present, { owner: apiOwner, passwordHash, newUserId });
          },
        },
        context,
      );
      return messageOf(updated);
    },

    async deleteUser({ userId: id, ...request }, context) {
      await records.delete('user', { ...request, id }, context);
      return {};
    },
  };
}

/** Throws InvalidArgument for broken rules, and AlreadyExists for identifiers of other people. */
async function check(declared: DeclaredUser, userId: string, around: RecordTransaction): Promise<void> {
  const roles = new Set(await around.roles());
  form.check((report) => checkUser(declared, roles, report));
  const taken = new Set(await around.takenIdentifiers(userId, identifiersOf(declared)));
  const keys = (['username', 'email', 'phoneNumber'] as const).filter((key) =>
    taken.has(normalizeIdentifier(declared[key])),
  );
  if (keys.length > 0) {
    const description = 'belongs to another user of the tenant';
    throw invalidFields(
      keys.map((key) => ({ field: `user.${key}`, description })),
      Code.AlreadyExists,
    );
  }
}

function entryOfUser(record: UserRecord): Entry {
  return { ...entryOf(userFields, record), ...record.standardClaims };
}

function messageOf(outcome: Outcome<UserRecord>) {
  const { userId, standardClaims, ...record } = outcome.record;
  return form.messageOf({ ...valuesOf(userFields, record), ...standardClaims, userId }, outcome);
}
