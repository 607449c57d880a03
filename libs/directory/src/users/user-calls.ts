import { Code, invalidFields, type Handlers } from '@tessera/rpc';
import { UserSchema, type UsersService } from '@tessera/proto-gen/admin-users';
import { apiOwner } from '../declared/owner.ts';
import { passwordProblem } from '../credentials/password-policy.ts';
import type { Passwords } from '../credentials/passwords.ts';
import { linkCalls, type LinkCallsDeps } from '../links/link-calls.ts';
import { entryOf, valuesOf } from '../fields/field.ts';
import { notFound } from '../messages.ts';
import type { Outcome } from '../records/change-records.ts';
import { pageRequest } from '../records/page-token.ts';
import { listed, type RecordCallsDeps } from '../records/record-calls.ts';
import { recordForm, updatedEntry, type Entry } from '../records/record-form.ts';
import { readRoles } from '../roles/read.postgres.ts';
import { findRecord } from '../store/read-records.postgres.ts';
import type { RecordTransaction } from '../store/store.ts';
import { checkUser } from './checks.ts';
import { desiredUser } from './desired.ts';
import { user, userFields, type DeclaredUser, type UserRecord } from './fields.ts';
import { identifiersOf, normalizeIdentifier } from './identifiers.ts';
import { takenIdentifiers } from './read.postgres.ts';

export interface UserCallsDeps extends RecordCallsDeps, LinkCallsDeps {
  readonly passwords: Passwords;
  /** In characters. */
  readonly passwordMinLength: number;
  readonly newUserId: () => string;
}

const form = recordForm(UserSchema, 'user', Object.keys(user.shape));

/** The calls that read and change one person. */
export function userCalls({
  database,
  records,
  passwords,
  passwordMinLength,
  newUserId,
  ...linkDeps
}: UserCallsDeps): Handlers<typeof UsersService> {
  /** The hash of a password that is given; before the transaction, which must be short. */
  async function hashOf(given: Entry, validateOnly: boolean): Promise<string | undefined> {
    const { password } = form.parse(user.pick({ password: true }), { password: given['password'] });
    if (password === undefined) return undefined;
    const problem = passwordProblem(password, passwordMinLength);
    if (problem !== undefined) form.check((report) => report(['password'], problem));
    return validateOnly ? undefined : passwords.renewed(password);
  }

  return {
    async get({ tenantId, userId }) {
      const found = await findRecord(database, 'user', tenantId, userId);
      if (found === undefined) throw notFound('The user');
      return messageOf(found);
    },

    async list({ tenantId, search, ...page }) {
      const request = pageRequest({ ...page, search: normalizeIdentifier(search) });
      const { found, nextPageToken } = await listed(database, 'user', tenantId, request);
      return { users: found.map(messageOf), nextPageToken };
    },

    async create({ user: given, ...request }, context) {
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

    async update({ user: given, updateMask, ...request }, context) {
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

    async delete({ userId: id, ...request }, context) {
      await records.delete('user', { ...request, id }, context);
      return {};
    },

    ...linkCalls(linkDeps),
  };
}

/** Throws InvalidArgument for broken rules, and AlreadyExists for identifiers of other people. */
async function check(
  declared: DeclaredUser,
  userId: string,
  { tx, tenantId }: RecordTransaction,
): Promise<void> {
  const roles = new Set((await readRoles(tx, tenantId)).map(({ name }) => name));
  form.check((report) => checkUser(declared, roles, report));
  const taken = new Set(await takenIdentifiers(tx, { tenantId, userId }, identifiersOf(declared)));
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
