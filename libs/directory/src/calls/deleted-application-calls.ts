import { adminRoles, adminScopes } from '@tessera/oauth';
import { pageRequest, Code, ConnectError, type Handlers } from '@tessera/rpc';
import type { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { applicationOf, messageOfApplication } from './forms/application-form.ts';
import { applicationFields, type ApplicationRecord } from '../applications/fields.ts';
import { entryOf } from '../fields/field.ts';
import { isBuiltInScope } from '../fields/field-checks.ts';
import { listedDeleted, type RecordCallsDeps } from '../records/record-calls.ts';
import { readResources } from '../resources/read.postgres.ts';
import { readRoles } from '../roles/read.postgres.ts';
import type { RecordTransaction } from '../store/store.ts';

/** The calls that list deleted applications and bring one back. */
export function deletedApplicationCalls({
  database,
  records,
}: RecordCallsDeps): Pick<Handlers<typeof ApplicationsService>, 'listDeleted' | 'undelete'> {
  return {
    async listDeleted({ tenantId, ...page }) {
      const { found, nextPageToken } = await listedDeleted(
        database,
        'application',
        tenantId,
        pageRequest(page),
      );
      return { applications: found.map(messageOfApplication), nextPageToken };
    },

    async undelete({ clientId: id, ...request }, context) {
      const restored = await records.restore(
        'application',
        {
          ...request,
          id,
          async draft({ record }, around) {
            const kept = await withoutWhatIsGone(record, around);
            // Parsed again: an earlier version kept fewer fields.
            return applicationOf(entryOf(applicationFields, kept), record.owner, kept, around);
          },
        },
        context,
      );
      return messageOfApplication(restored);
    },
  };
}

/** Those that what an earlier version kept has not. */
function laterFields({ defaultScopes = [], audiences = [] }: Partial<ApplicationRecord>) {
  return { defaultScopes, audiences };
}

/** Throws FailedPrecondition if no role of a list is left: an empty one restricts nothing. */
async function withoutWhatIsGone(
  record: ApplicationRecord,
  { tx, tenantId, tenant }: RecordTransaction,
): Promise<ApplicationRecord> {
  const resources = await readResources(tx, tenantId);
  const audiences = new Set(resources.map(({ audience }) => audience));
  const ofResources = resources.flatMap((resource) => resource.scopes.map(({ name }) => name));
  const scopes = new Set([...ofResources, ...adminScopes.keys()]);
  const ofTenant = (await readRoles(tx, tenantId)).map(({ name }) => name);
  const roles = new Set([...ofTenant, ...adminRoles.keys()]);
  const left = (listed: readonly string[], purpose: string) => {
    const kept = listed.filter((role) => roles.has(role));
    if (kept.length > 0 || listed.length === 0) return kept;
    throw new ConnectError(
      `The application is ${purpose}: ${listed.join(', ')}. Create one of these roles first.`,
      Code.FailedPrecondition,
    );
  };
  const has = (scope: string) => isBuiltInScope(scope) || scopes.has(scope);
  const { defaultScopes, audiences: further } = laterFields(record);
  return {
    ...record,
    scopes: record.scopes.filter(has),
    defaultScopes: defaultScopes.filter(has),
    audiences: tenant?.endpoints === 'keycloak' ? further : [],
    introspectAudiences: record.introspectAudiences.filter((audience) => audiences.has(audience)),
    allowedRoles: left(record.allowedRoles, 'for people with a role that is gone'),
    roles: left(record.roles, 'to have roles in its tokens that are gone'),
  };
}
