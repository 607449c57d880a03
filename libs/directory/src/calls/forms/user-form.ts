import { isGivenUserId } from '@tessera/oauth';
import { Code, invalidFields, timestampFromMs } from '@tessera/rpc';
import { UserSchema, type User } from '@tessera/proto-gen/admin-users';
import { entryOf, valuesOf } from '../../fields/field.ts';
import type { Outcome } from '../../records/change-requests.ts';
import { recordForm, updatedEntry, type Entry } from '../../records/record-form.ts';
import { readRoles } from '../../roles/read.postgres.ts';
import type { RecordTransaction } from '../../store/store.ts';
import { checkUser } from '../../users/checks.ts';
import { ofFilesAlone, user, userFields, type DeclaredUser, type UserRecord } from '../../users/fields.ts';
import { isClientId, needsOwnIssuer, wasGiven } from '../../users/claims/given-user-id.ts';
import { identifiersOf, normalizeIdentifier } from '../../users/identifiers.ts';
import { namesSharedBy } from '../../users/preferred-names.postgres.ts';
import { takenIdentifiers } from '../../users/read.postgres.ts';
import { lockSubject } from '../../users/subjects.postgres.ts';

/** How people stand in messages. */
export const userForm = recordForm(
  UserSchema,
  'user',
  Object.keys(user.shape).filter((key) => key !== 'userId' && !ofFilesAlone.has(key)),
);

/**
 * What a request says of a new person, with the identifier that they are given; one that looks as if it was made here
 * is that of a record that was read. Throws InvalidArgument.
 */
export function entryOfNewUser(given: User | undefined): Entry {
  const entry = userForm.entryOf(given);
  const { userId = '' } = given ?? {};
  return userId !== '' && isGivenUserId(userId) ? { ...entry, userId } : entry;
}

/**
 * Throws InvalidArgument if nobody of the tenant may be given an identifier, and AlreadyExists if tokens have it as the
 * subject of somebody else.
 */
export async function checkGivenUserId(
  userId: string,
  { tx, tenantId, tenant }: RecordTransaction,
): Promise<void> {
  if (tenant?.issuer === '') userForm.check((report) => report(['userId'], needsOwnIssuer));
  const { ofPeople, ofApplications } = await lockSubject(tx, tenantId, userId);
  const problem = ofApplications.has(userId) ? isClientId : ofPeople.has(userId) ? wasGiven : undefined;
  if (problem !== undefined)
    throw invalidFields([{ field: 'user.userId', description: problem }], Code.AlreadyExists);
}

/**
 * Throws InvalidArgument for broken rules, and AlreadyExists for identifiers and names of other people.
 * @param present the person as they are; undefined for a new one
 */
export async function checkAmongOthers(
  declared: DeclaredUser,
  userId: string,
  { tx, tenantId }: RecordTransaction,
  present?: UserRecord,
): Promise<void> {
  const roles = new Set((await readRoles(tx, tenantId)).map(({ name }) => name));
  userForm.check((report) => checkUser(declared, roles, report));
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
  const person = { ...declared, userId, standardClaims: declared };
  const shared = await namesSharedBy(tx, tenantId, person, present);
  if (shared.length > 0)
    throw invalidFields(
      shared.map(({ key, message: description }) => ({ field: `user.${key}`, description })),
      Code.AlreadyExists,
    );
}

/** The entry that asks for a person, without the password. */
export function entryOfUser(record: UserRecord): Entry {
  return { ...entryOf(userFields, record), ...record.standardClaims };
}

/** What is said of an address or a number, and holds for that one alone. */
const saidOf: Readonly<Record<string, string>> = {
  email: 'emailVerified',
  phoneNumber: 'phoneNumberVerified',
};

/**
 * The entry of a person after an update of these fields. Another address or number is not verified because the former
 * one was: the same update says so, or nobody does.
 */
export function updatedUser(
  present: UserRecord,
  given: Entry,
  paths: Parameters<typeof updatedEntry>[2],
): Entry {
  const before = entryOfUser(present);
  const after = updatedEntry(before, given, paths);
  const isSame = (key: string) => identifierIn(before[key]) === identifierIn(after[key]);
  const former = Object.entries(saidOf)
    .filter(([key, said]) => !isSame(key) && !paths.some(([path]) => path === said))
    .map(([, said]) => said);
  return Object.fromEntries(Object.entries(after).filter(([key]) => !former.includes(key)));
}

function identifierIn(value: unknown): string {
  return typeof value === 'string' ? normalizeIdentifier(value) : '';
}

/** Never with the password hash. With the last sign-in where it was read. */
export function messageOfUser(outcome: Outcome<UserRecord>, lastSignIn?: Date) {
  const { userId, standardClaims, ...record } = outcome.record;
  const entry = { ...valuesOf(userFields, record), ...standardClaims, userId };
  const message = userForm.messageOf(entry, outcome);
  return lastSignIn === undefined
    ? message
    : Object.assign(message, { lastSignInTime: timestampFromMs(lastSignIn.getTime()) });
}
