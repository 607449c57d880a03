import type { z } from 'zod';
import { CommandError } from '../../../terminal.ts';
import { objectsInJson, TooDeepError } from '../../files/json-list.ts';
import { textSource, type JsonSource } from '../../files/json-source.ts';
import { realm, user, type Realm, type User } from './representation.ts';

/** Called with a line for each thing that is left out. */
export type Report = (line: string) => void;

/** What every realm has, for Keycloak itself. */
export const ownClients: ReadonlySet<string> = new Set([
  'account',
  'account-console',
  'admin-cli',
  'broker',
  'realm-management',
  'security-admin-console',
]);

/** The client scopes that every realm has; those that are scopes here too come with the clients. */
export const ownScopes: ReadonlySet<string> = new Set([
  'acr',
  'address',
  'basic',
  'email',
  'microprofile-jwt',
  'offline_access',
  'organization',
  'phone',
  'profile',
  'role_list',
  'roles',
  'saml_organization',
  'service_account',
  'web-origins',
]);

/** A file of an export. */
export type RealmFile = { readonly name: string } & (
  { readonly text: string } | { readonly source: JsonSource }
);

/** A person of a realm, and what the file has of them. */
export interface ReadUser {
  readonly user: User;
  readonly value: unknown;
}

/** An export as it was read. */
export interface ReadRealm {
  readonly realm: Realm;
  /** What the files have of the realm, without its people. */
  readonly values: readonly unknown[];
  /** One after the other, as often as somebody reads them. Throws CommandError where it comes to what is none. */
  readonly users: Iterable<ReadUser>;
}

/**
 * Reads the files of an export: one with everything, or that of the realm and those of its users; a file may have a
 * list of realms. Throws CommandError.
 * @param wanted the realm that is meant, by its name; needed if there are several
 */
export function readRealm(files: readonly RealmFile[], wanted?: string): ReadRealm {
  const read = files.flatMap((file) => partsOf(file));
  const present = [...new Set(read.map(({ realm }) => realm.realm))];
  if (wanted !== undefined && !present.includes(wanted))
    throw new CommandError(`The files have no realm ${wanted}, but ${present.join(', ')}.`);
  if (wanted === undefined && present.length > 1)
    throw new CommandError(
      `The files are of several realms. Choose one with --realm: ${present.join(', ')}.`,
    );
  const chosen = read.filter(({ realm }) => wanted === undefined || realm.realm === wanted);
  const [whole, ...others] = chosen.filter(({ realm }) => realm.clients.length > 0);
  if (whole === undefined) throw new CommandError('No file has the clients of the realm.');
  if (others.length > 0) throw new CommandError('The files have the realm twice.');
  return {
    realm: whole.realm,
    values: chosen.map(({ value }) => value),
    users: {
      *[Symbol.iterator]() {
        for (const { users } of chosen) yield* users;
      },
    },
  };
}

/** What a file has of a realm. */
interface RealmPart {
  readonly realm: Realm;
  readonly value: unknown;
  readonly users: Iterable<ReadUser>;
}

/** The realms of a file. Throws CommandError without the content. */
function partsOf({ name, ...of }: RealmFile): RealmPart[] {
  const source = 'text' in of ? textSource(of.text) : of.source;
  const found = orNoJson(name, () => objectsInJson(source, 'users')).filter(({ value }) => value !== null);
  const parts = found.length > 0 ? found : [{ value: [], list: [] }];
  return parts.map(({ value: given, list }) => {
    const value = withoutNulls(given);
    const users = { [Symbol.iterator]: () => usersOf(name, list) };
    return { realm: parsedAs(realm, value, { name, path: '' }), value, users };
  });
}

function* usersOf(name: string, list: Iterable<unknown>): Generator<ReadUser> {
  const entries = list[Symbol.iterator]();
  for (let index = 0; ; index += 1) {
    const next = orNoJson(name, () => entries.next());
    if (next.done === true) return;
    const value = withoutNulls(next.value);
    if (value !== null) yield { user: parsedAs(user, value, { name, path: `users.${index}` }), value };
  }
}

/** Throws CommandError with the path to what is wrong, and without any content. */
function parsedAs<T extends z.ZodType>(
  schema: T,
  value: unknown,
  { name, path: above }: { readonly name: string; readonly path: string },
): z.infer<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const path = [above, ...(parsed.error.issues[0]?.path ?? [])].filter((key) => key !== '').join('.');
  const where = path === '' ? '' : ` (${path})`;
  throw new CommandError(`${name} is no export of a realm of Keycloak${where}.`);
}

/** Without what is null, which is absent. Changes the value. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((each) => each !== null).map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const fields = value as Record<string, unknown>;
  for (const [key, each] of Object.entries(fields))
    if (each === null) Reflect.deleteProperty(fields, key);
    else if (typeof each === 'object') fields[key] = withoutNulls(each);
  return fields;
}

/** Throws CommandError without the message of the parser, which repeats a part of the text. */
function orNoJson<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof TooDeepError) throw new CommandError(`${name} ${error.problem}.`);
    if (!(error instanceof SyntaxError)) throw error;
    throw new CommandError(`${name} is not JSON, so it is no export of a realm of Keycloak.`);
  }
}
