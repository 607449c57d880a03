import type { Handlers } from '@tessera/rpc';
import type { DirectoryAdminService } from '@tessera/proto-gen/directory';
import { ApplicationRecordSchema } from '@tessera/proto-gen/records';
import { apiOwner } from '../declared/owner.ts';
import { desiredOf, entryOf, valuesOf } from '../fields/field.ts';
import { recordCalls, type RecordCallsDeps } from '../records/record-calls.ts';
import { recordForm } from '../records/record-form.ts';
import { jwtAudienceAsClientId, jwtAudiencesOf } from '../resources/checks.ts';
import { checkApplication } from './checks.ts';
import { applicationFields, applicationWithoutSecrets } from './fields.ts';

type ApplicationCalls =
  'getApplication' | 'listApplications' | 'createApplication' | 'updateApplication' | 'deleteApplication';

const form = recordForm(ApplicationRecordSchema, 'application', Object.keys(applicationFields));

/** The calls that read and change one application, but for its secrets. */
export function applicationCalls(
  deps: RecordCallsDeps,
): Pick<Handlers<typeof DirectoryAdminService>, ApplicationCalls> {
  const calls = recordCalls(
    {
      kind: 'application',
      form,
      entryOf: (record) => entryOf(applicationFields, record),
      messageOf: (outcome) => form.messageOf(valuesOf(applicationFields, outcome.record), outcome),
      async desired(entry, present, around) {
        const declared = form.parse(applicationWithoutSecrets, entry);
        const resources = await around.resources();
        const roles = await around.roles();
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
    getApplication: async ({ tenantId, clientId }) => calls.get(tenantId, clientId),
    async listApplications({ tenantId, ...page }) {
      const { found: applications, nextPageToken } = await calls.list(tenantId, page);
      return { applications, nextPageToken };
    },
    createApplication: async ({ application, ...request }, context) =>
      calls.create(application, { ...request, id: application?.clientId ?? '' }, context),
    async updateApplication({ application, ...request }, context) {
      const { clientId: id = '', etag = '' } = application ?? {};
      return calls.update(application, { ...request, id, etag }, context);
    },
    deleteApplication: async ({ clientId: id, ...request }, context) =>
      calls.delete({ ...request, id }, context),
  };
}
