import { z } from 'zod';
import { CommandError } from '../../../terminal.ts';
import { objectsInJson, TooDeepError } from '../../files/json-list.ts';
import { textSource, type JsonSource } from '../../files/json-source.ts';

/** Keycloak reads numbers and truth values as texts, and texts as them. */
const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((value) => value === 'true')]);
const number = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d+$/)
    .transform(Number),
]);
const names = z.array(text).default([]);
const namesByClient = z.record(z.string(), names).default({});
/** One text stands for a list of it. */
const lists = z
  .record(z.string(), z.union([z.array(text), text.transform((one): string[] => [one])]))
  .default({});
/** Only texts mean something here. */
const texts = z
  .record(z.string(), z.unknown())
  .default({})
  .transform((values): Readonly<Partial<Record<string, string>>> => {
    const entries = Object.entries(values);
    return Object.fromEntries(
      entries.flatMap(([key, value]) => {
        const read = text.safeParse(value);
        return read.success ? [[key, read.data]] : [];
      }),
    );
  });

const mapper = z.object({ name: text.default(''), protocolMapper: text, config: texts });
const mappers = z.array(mapper).default([]);

const role = z.object({
  name: text,
  composites: z.object({ realm: names, client: namesByClient }).optional(),
});

const group = z.object({
  name: text,
  realmRoles: names,
  clientRoles: namesByClient,
  get subGroups(): z.ZodDefault<z.ZodArray<typeof group>> {
    return z.array(group).default([]);
  },
});

const credential = z.object({
  type: text.default(''),
  secretData: text.default(''),
  credentialData: text.default(''),
  // A password in plain text, as people write it into a file.
  value: text.default(''),
  temporary: flag.default(false),
  // Before Keycloak 8.
  hashedSaltedValue: text.default(''),
  salt: text.default(''),
  hashIterations: number.default(0),
  algorithm: text.default('pbkdf2'),
  digits: number.default(0),
  period: number.default(0),
});

const user = z.object({
  id: text.default(''),
  username: text.default(''),
  email: text.default(''),
  emailVerified: flag.default(false),
  firstName: text.default(''),
  lastName: text.default(''),
  // As Keycloak reads it.
  enabled: flag.default(false),
  attributes: lists,
  credentials: z.array(credential).default([]),
  federatedIdentities: z.array(z.object({ identityProvider: text, userId: text.default('') })).default([]),
  // Present if a federation has the person, such as the identifier of an LDAP server.
  federationLink: text.default(''),
  requiredActions: names,
  realmRoles: names,
  clientRoles: namesByClient,
  // The former name of the same.
  applicationRoles: namesByClient,
  groups: names,
  serviceAccountClientId: text.optional(),
});

const client = z.object({
  clientId: text,
  name: text.default(''),
  rootUrl: text.default(''),
  enabled: flag.default(true),
  protocol: text.default('openid-connect'),
  publicClient: flag.default(false),
  bearerOnly: flag.default(false),
  consentRequired: flag.default(false),
  fullScopeAllowed: flag.optional(),
  standardFlowEnabled: flag.default(true),
  implicitFlowEnabled: flag.default(false),
  directAccessGrantsEnabled: flag.default(false),
  serviceAccountsEnabled: flag.default(false),
  authorizationServicesEnabled: flag.default(false),
  authorizationSettings: z.unknown().optional(),
  authenticationFlowBindingOverrides: texts,
  clientAuthenticatorType: text.default('client-secret'),
  secret: text.default(''),
  redirectUris: names,
  attributes: texts,
  protocolMappers: mappers,
  defaultClientScopes: z.array(text).optional(),
  optionalClientScopes: z.array(text).optional(),
});

const clientScope = z.object({
  name: text,
  description: text.default(''),
  protocol: text.default('openid-connect'),
  protocolMappers: mappers,
});

const scopeMapping = z.object({ client: text.default(''), clientScope: text.default(''), roles: names });

const execution = z.object({
  authenticator: text.default(''),
  requirement: text.default(''),
  flowAlias: text.default(''),
});

const flow = z.object({
  id: text.default(''),
  alias: text.default(''),
  authenticationExecutions: z.array(execution).default([]),
});

const identityProvider = z.object({
  alias: text,
  providerId: text.default(''),
  displayName: text.default(''),
  enabled: flag.default(true),
  linkOnly: flag.default(false),
  hideOnLogin: flag.default(false),
  organizationId: text.default(''),
  firstBrokerLoginFlowAlias: text.default(''),
  postBrokerLoginFlowAlias: text.default(''),
  config: texts,
});

const providerMapper = z.object({
  name: text.default(''),
  identityProviderAlias: text.default(''),
  identityProviderMapper: text.default(''),
  config: texts,
});

/** What is read of a realm representation of Keycloak 26. What becomes of other keys says `known-keys.ts`. */
const realm = z.object({
  realm: text,
  displayName: text.default(''),
  enabled: flag.default(true),
  verifyEmail: flag.default(false),
  accessTokenLifespan: number.default(300),
  // Keycloak's own without them.
  ssoSessionIdleTimeout: number.default(1800),
  ssoSessionMaxLifespan: number.default(36_000),
  clientSessionIdleTimeout: number.default(0),
  clientSessionMaxLifespan: number.default(0),
  offlineSessionIdleTimeout: number.default(0),
  offlineSessionMaxLifespanEnabled: flag.default(false),
  offlineSessionMaxLifespan: number.default(0),
  clientOfflineSessionIdleTimeout: number.default(0),
  clientOfflineSessionMaxLifespan: number.default(0),
  webAuthnPolicyPasswordlessRpId: text.default(''),
  webAuthnPolicyPasswordlessPasskeysEnabled: flag.default(false),
  browserFlow: text.default(''),
  firstBrokerLoginFlow: text.default(''),
  authenticationFlows: z.array(flow).default([]),
  defaultRole: z.object({ name: text }).optional(),
  roles: z
    .object({ realm: z.array(role).default([]), client: z.record(z.string(), z.array(role)).default({}) })
    .default({ realm: [], client: {} }),
  groups: z.array(group).default([]),
  // They are read one by one.
  users: z.array(z.never()).default([]),
  clients: z.array(client).default([]),
  clientScopes: z.array(clientScope).optional(),
  defaultDefaultClientScopes: z.array(text).optional(),
  defaultOptionalClientScopes: z.array(text).optional(),
  scopeMappings: z.array(scopeMapping).default([]),
  clientScopeMappings: z.record(z.string(), z.array(scopeMapping)).default({}),
  identityProviders: z.array(identityProvider).default([]),
  identityProviderMappers: z.array(providerMapper).default([]),
  components: z.record(z.string(), z.array(z.object({ name: text.default('') }))).default({}),
});

export type Realm = z.infer<typeof realm>;
export type Role = z.infer<typeof role>;
export type Group = z.infer<typeof group>;
export type User = z.infer<typeof user>;
export type Client = z.infer<typeof client>;
export type Credential = z.infer<typeof credential>;
export type ClientScope = z.infer<typeof clientScope>;
export type Mapper = z.infer<typeof mapper>;
export type IdentityProvider = z.infer<typeof identityProvider>;
export type ProviderMapper = z.infer<typeof providerMapper>;
export type Flow = z.infer<typeof flow>;

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
