import { slug, type Entry, type Imported, type ImportedRecords } from '../files/imported.ts';
import { printable } from '../files/printable.ts';
import { applicationsOf } from './clients/applications.ts';
import { scopesOf } from './clients/audience-scopes.ts';
import { isOwnClaim, readMappers } from './clients/claims.ts';
import { providersOf } from './people/identity-providers.ts';
import { readRedirectUris } from './clients/exact-uris.ts';
import { asksToDeclare, knownKeys } from './realm/known-keys.ts';
import { readingPeople } from './people/people.ts';
import { ReadKeys } from './realm/read-keys.ts';
import { ownScopes, readRealm, type ReadUser, type RealmFile } from './realm/realm.ts';
import { reportFlow, type Choices } from './realm/restrictions.ts';
import { noRoles } from './clients/role-scope.ts';
import { rolesOf } from './realm/roles.ts';
import { signInFlowsOf } from './realm/sign-in-flows.ts';

const federation = 'org.keycloak.storage.UserStorageProvider';

/** How long sessions last in a new realm, in seconds. */
const usualSessions = [
  ['ssoSessionIdleTimeout', 1800],
  ['ssoSessionMaxLifespan', 36_000],
] as const;

/** How a realm is imported. */
interface Options extends Partial<Choices> {
  /** The name of the realm that is meant, where the files have several. */
  readonly realm?: string | undefined;
  /** The file that says redirect URIs in place of wildcards. */
  readonly redirectUris?: { readonly name: string; readonly text: string } | undefined;
  /** The end of short secrets, in ISO 8601; undefined: they do not come. */
  readonly keptUntil?: string | undefined;
  /** Whether the tenant gets the issuer of the realm. */
  readonly hasIssuer?: boolean;
}

/**
 * A realm as records of a tenant: clients, client scopes that name an audience, roles, and people with their hashes.
 * Roles of groups and composite roles are given to each person. What restricts somebody or something and has no
 * counterpart leaves the record disabled or without its password, unless that is accepted. Every key of the files is
 * read, without meaning here, or has a line. Throws CommandError.
 */
export function importedRealm(
  files: readonly RealmFile[],
  {
    realm: wanted,
    acceptsWider = false,
    keepsWildcards,
    redirectUris: exact,
    keptUntil,
    hasIssuer = false,
  }: Options = {},
): Imported & {
  readonly records: Omit<ImportedRecords, 'users'> & { readonly users: Iterable<Entry> };
  /** Empty if the name of the realm has no letters that a tenant may have. */
  readonly tenant: string;
  readonly tenantName: string;
} {
  const { realm: read, values, users } = readRealm(files, wanted);
  // What has no line yet when it is asked whether it is passed over.
  const brought = { applications: new Set<string>(), scopes: new Set<string>(ownScopes) };
  const keys = new ReadKeys(knownKeys((pattern, value) => isPassedOver(pattern, value, brought)));
  const realm = keys.watched(read);
  const lines = new Set<string>();
  const report = (line: string) => void lines.add(line);
  const { realm: name, displayName, components } = realm;
  for (const [key, usual] of usualSessions)
    if (realm[key] > 0 && realm[key] !== usual)
      report(`${key}: sign-ins last as long as the installation says`);
  const flows = signInFlowsOf(realm);
  reportFlow({ realm, flows, acceptsWider }, report);
  const roles = rolesOf(realm, report);
  const {
    providers,
    linked: linkedProviders,
    toDo: toDoOfTenant,
  } = providersOf(realm, { roles, acceptsWider }, report);
  for (const { name: alias } of components[federation] ?? [])
    report(`user federation ${alias}: has no counterpart; its people are not in the file`);
  const { resources, names: scopes } = scopesOf(realm, report);
  const redirectUris = exact === undefined ? new Map<string, never>() : readRedirectUris(exact, realm);
  const { applications, apis, ...ofApplications } = applicationsOf(
    { realm, roles, flows, scopes, acceptsWider, keepsWildcards, redirectUris, keptUntil, hasIssuer },
    report,
  );
  const audiences = new Set(resources.map(({ audience }) => audience));
  const ofApis = apis.filter((name) => !audiences.has(name)).map((name) => ({ audience: name, name }));
  if (!realm.enabled) report('realm: is disabled, so its people and applications come disabled');
  const broughtProviders = new Set(providers.map((provider) => String(provider['name'])));
  const personOf = readingPeople(realm, { roles, flows, linkedProviders, broughtProviders, acceptsWider });
  let index = 0;
  for (const { user } of users) personOf(keys.watchedEntry('users', user), index++, report);
  for (const { clientId } of applications) brought.applications.add(String(clientId));
  for (const scope of scopes) brought.scopes.add(scope);
  for (const line of keys.unread(values, { key: 'users', values: valuesOf(users) }))
    if (asksToDeclare(line)) toDoOfTenant.push(line);
    else report(line);
  const needed = applications.some((each) => (each['roles'] as string[] | undefined)?.includes(noRoles));
  const tenant = slug(name);
  return {
    tenant,
    // Keycloak takes spaces around it.
    tenantName: printable(displayName).trim() || printable(name).trim(),
    // Without an issuer it has no effect.
    tenantKeys: { endpoints: 'keycloak' },
    owner: tenant === '' ? 'keycloak' : `keycloak:${tenant}`,
    records: {
      resources: [...resources, ...ofApis],
      roles: [...roles.names, ...(needed ? [noRoles] : [])],
      providers,
      users: { [Symbol.iterator]: () => peopleOf(users, personOf) },
      applications,
    },
    leftOut: [...lines],
    toDoOfTenant,
    ...ofApplications,
  };
}

/** Read anew, as there may be too many to have at once. What is left out of them has its lines. */
function* peopleOf(users: Iterable<ReadUser>, personOf: ReturnType<typeof readingPeople>): Generator<Entry> {
  let index = 0;
  for (const { user } of users) {
    const person = personOf(user, index, () => undefined);
    index += 1;
    if (person !== undefined) yield person;
  }
}

function* valuesOf(users: Iterable<ReadUser>): Generator<unknown> {
  for (const { value } of users) yield value;
}

/** Clients of Keycloak itself, service accounts and what has a line as a whole. */
function isPassedOver(
  pattern: string,
  value: object,
  brought: { readonly applications: ReadonlySet<string>; readonly scopes: ReadonlySet<string> },
): boolean {
  const of = value as Readonly<Record<string, unknown>>;
  if (pattern === 'users[]')
    return of['serviceAccountClientId'] !== undefined || !(of['username'] || of['email']);
  if (pattern === 'clients[]') return !brought.applications.has(String(of['clientId']));
  if (pattern === 'clientScopes[]') return !brought.scopes.has(String(of['name']));
  if (!pattern.endsWith('.protocolMappers[]')) return false;
  const { 'claim.name': claim } = (of['config'] ?? {}) as Readonly<Record<string, unknown>>;
  return (
    !readMappers.has(String(of['protocolMapper'])) ||
    (pattern.startsWith('clientScopes') && isOwnClaim(claim))
  );
}
