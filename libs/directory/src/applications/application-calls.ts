import type { Handlers } from '@tessera/rpc';
import { ApplicationSchema, type ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { apiOwner } from '../declared/owner.ts';
import { desiredOf, entryOf, valuesOf } from '../fields/field.ts';
import { recordCalls, type RecordCallsDeps } from '../records/record-calls.ts';
import { recordForm } from '../records/record-form.ts';
import { jwtAudienceAsClientId, jwtAudiencesOf } from '../resources/checks.ts';
import { readResources } from '../resources/read.postgres.ts';
import { readRoles } from '../roles/read.postgres.ts';
import { checkApplication } from './checks.ts';
import { applicationFields, applicationWithoutSecrets } from './fields.ts';
import { secretCalls, type SecretCallsDeps } from './secret-calls.ts';

const form = recordForm(ApplicationSchema, 'application', Object.keys(applicationFields));

/** The calls that read and change one application and its secrets. */
export function applicationCalls(
  deps: RecordCallsDeps & SecretCallsDeps,
): Handlers<typeof ApplicationsService> {
  const calls = recordCalls(
    {
      kind: 'application',
      form,
      entryOf: (record) => entryOf(applicationFields, record),
      messageOf: (outcome) => form.messageOf(valuesOf(applicationFields, outcome.record), outcome),
      async desired(entry, present, around) {
        const declared = form.parse(applicationWithoutSecrets, entry);
        const resources = await readResources(around.tx, around.tenantId);
        const roles = (await readRoles(around.tx, around.tenantId)).map(({ name }) => name);
        const secrets = present?.secrets ?? [];
        form.check((report) => {
          checkApplication(declared, { resources, roles }, report);
          if (jwtAudiencesOf({ resources }).includes(declared.clientId))
            report(['clientId'], jwtAudienceAsClientId);
          if (declared.type === 'public' && secrets.length > 0)
            report(['type'], 'a public application has no secret');
        });
        return { ...desiredOf(applicationFields, declared, present), owner: apiOwner, secrets };
      },
    },
    deps,
  );
  return {
    get: async ({ tenantId, clientId }) => calls.get(tenantId, clientId),
    async list({ tenantId, ...page }) {
      const { found: applications, nextPageToken } = await calls.list(tenantId, page);
      return { applications, nextPageToken };
    },
    create: async ({ application, ...request }, context) =>
      calls.create(application, { ...request, id: application?.clientId ?? '' }, context),
    async update({ application, ...request }, context) {
      const { clientId: id = '', etag = '' } = application ?? {};
      return calls.update(application, { ...request, id, etag }, context);
    },
    delete: async ({ clientId: id, ...request }, context) => calls.delete({ ...request, id }, context),
    ...secretCalls(deps),
  };
}
