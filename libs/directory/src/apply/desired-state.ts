import { desiredApplication } from '../applications/desired.ts';
import type { ClientSecrets } from '../credentials/client-secrets.ts';
import type { DeclaredTenant } from '../declared/schema.ts';
import { desiredOf } from '../fields/field.ts';
import type { TenantState } from '../store/records.ts';
import { tenantFields } from '../tenants/fields.ts';
import { desiredUser } from '../users/desired.ts';
import { normalizeIdentifier } from '../users/identifiers.ts';

export interface DesiredOptions {
  readonly secrets: ClientSecrets;
  /** By normalized user name, for users with a declared password or hash. */
  readonly passwordHashes: ReadonlyMap<string, string>;
  readonly newUserId: () => string;
}

/** The owner of new records of a file. */
const owner = 'file';

/**
 * The desired state of a tenant. The declared state is the whole of the tenant, except that an undeclared status or password
 * stays as it is, so that applying a file again never enables what was disabled.
 */
export function desiredState(
  declared: DeclaredTenant,
  current: TenantState | undefined,
  { secrets, passwordHashes, newUserId }: DesiredOptions,
): TenantState {
  const users = new Map(current?.users.map((user) => [normalizeIdentifier(user.username), user]));
  const applications = new Map(
    current?.applications.map((application) => [application.clientId, application]),
  );
  return {
    tenant: { tenantId: declared.id, ...desiredOf(tenantFields, declared, current?.tenant) },
    resources: declared.resources,
    roles: declared.roles,
    users: declared.users.map((user) => {
      const name = normalizeIdentifier(user.username);
      const present = users.get(name);
      const passwordHash = passwordHashes.get(name);
      return desiredUser(user, present, { owner: present?.owner ?? owner, passwordHash, newUserId });
    }),
    applications: declared.applications.map((application) => {
      const present = applications.get(application.clientId);
      return desiredApplication(declared.id, application, present, {
        owner: present?.owner ?? owner,
        secrets,
      });
    }),
  };
}
