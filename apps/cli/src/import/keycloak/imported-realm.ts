import { slug, type Imported, type ImportedRecords } from '../files/imported.ts';
import { applicationsOf } from './applications.ts';
import { peopleOf } from './people.ts';
import { readRealm } from './realm.ts';
import { rolesOf } from './roles.ts';
import { scopesOf } from './audience-scopes.ts';

const federation = 'org.keycloak.storage.UserStorageProvider';

/**
 * A realm as records of a tenant: clients, client scopes that name an audience, roles, and people with their hashes.
 * Roles of groups and composite roles are given to each person. Throws CommandError.
 */
export function importedRealm(
  files: readonly { readonly name: string; readonly text: string }[],
): Imported & {
  readonly records: ImportedRecords;
  readonly tenant: string;
  readonly tenantName: string;
} {
  const realm = readRealm(files);
  const lines = new Set<string>();
  const report = (line: string) => void lines.add(line);
  for (const { alias } of realm.identityProviders) report(`identity provider ${alias}: has no counterpart`);
  for (const { name } of realm.components[federation] ?? [])
    report(`user federation ${name}: has no counterpart; its people are not in the file`);
  const roles = rolesOf(realm, report);
  const { resources, names } = scopesOf(realm, report);
  const applications = applicationsOf(realm, names, report);
  const users = peopleOf(realm, roles, report);
  const tenant = slug(realm.realm);
  return {
    tenant,
    tenantName: realm.displayName === '' ? realm.realm : realm.displayName,
    owner: `keycloak:${tenant}`,
    records: { resources, roles: [...roles.names], users, applications },
    leftOut: [...lines],
  };
}
