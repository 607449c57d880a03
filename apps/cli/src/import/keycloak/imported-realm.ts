import { slug, type Imported, type ImportedRecords } from '../files/imported.ts';
import { applicationsOf } from './applications.ts';
import { scopesOf } from './audience-scopes.ts';
import { isOwnClaim, readMappers } from './claims.ts';
import { knownKeys } from './known-keys.ts';
import { peopleOf } from './people.ts';
import { ReadKeys } from './read-keys.ts';
import { ownScopes, readRealm } from './realm.ts';
import { reportFlow, type Choices } from './restrictions.ts';
import { noRoles } from './role-scope.ts';
import { rolesOf } from './roles.ts';
import { signInFlowsOf } from './sign-in-flows.ts';

const federation = 'org.keycloak.storage.UserStorageProvider';

/** How a realm is imported. */
interface Options extends Partial<Choices> {
  /** The name of the realm that is meant, where the files have several. */
  readonly realm?: string | undefined;
}

/**
 * A realm as records of a tenant: clients, client scopes that name an audience, roles, and people with their hashes.
 * Roles of groups and composite roles are given to each person. What restricts somebody or something and has no
 * counterpart leaves the record disabled or without its password, unless that is accepted. Every key of the files is
 * read, without meaning here, or has a line. Throws CommandError.
 */
export function importedRealm(
  files: readonly { readonly name: string; readonly text: string }[],
  { realm: wanted, acceptsWider = false, keepsWildcards = false }: Options = {},
): Imported & {
  readonly records: ImportedRecords;
  /** Empty if the name of the realm has no letters that a tenant may have. */
  readonly tenant: string;
  readonly tenantName: string;
} {
  const { realm: read, values } = readRealm(files, wanted);
  // What has no line yet when it is asked whether it is passed over.
  const brought = { applications: new Set<string>(), scopes: new Set<string>(ownScopes) };
  const keys = new ReadKeys(knownKeys((pattern, value) => isPassedOver(pattern, value, brought)));
  const realm = keys.watched(read);
  const lines = new Set<string>();
  const report = (line: string) => void lines.add(line);
  const { realm: name, displayName, identityProviders, components } = realm;
  for (const { alias } of identityProviders) report(`identity provider ${alias}: has no counterpart`);
  for (const { name: alias } of components[federation] ?? [])
    report(`user federation ${alias}: has no counterpart; its people are not in the file`);
  const flows = signInFlowsOf(realm);
  reportFlow({ realm, flows, acceptsWider }, report);
  const roles = rolesOf(realm, report);
  const { resources, names: scopes } = scopesOf(realm, report);
  const choices = { acceptsWider, keepsWildcards };
  const applications = applicationsOf({ realm, roles, flows, scopes, ...choices }, report);
  const users = peopleOf(realm, { roles, acceptsWider }, report);
  for (const { clientId } of applications) brought.applications.add(String(clientId));
  for (const scope of scopes) brought.scopes.add(scope);
  for (const line of keys.unread(values)) report(line);
  const needed = applications.some((each) => (each['roles'] as string[] | undefined)?.includes(noRoles));
  const tenant = slug(name);
  return {
    tenant,
    tenantName: displayName === '' ? name : displayName,
    owner: tenant === '' ? 'keycloak' : `keycloak:${tenant}`,
    records: { resources, roles: [...roles.names, ...(needed ? [noRoles] : [])], users, applications },
    leftOut: [...lines],
  };
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
