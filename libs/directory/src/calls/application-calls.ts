import type { Handlers } from '@tessera/rpc';
import type { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { deletedApplicationCalls } from './deleted-application-calls.ts';
import { applicationFields } from '../applications/fields.ts';
import { recordCalls, type RecordCallsDeps } from '../records/record-calls.ts';
import { entryOf } from '../fields/field.ts';
import { applicationForm, applicationOf, messageOfApplication } from './forms/application-form.ts';
import { secretCalls, type SecretCallsDeps } from './secret-calls.ts';

/** The calls that read and change one application and its secrets. */
export function applicationCalls(
  deps: RecordCallsDeps & SecretCallsDeps,
): Handlers<typeof ApplicationsService> {
  const calls = recordCalls(
    {
      kind: 'application',
      form: applicationForm,
      status: applicationFields.status.schema,
      entryOf: (record) => entryOf(applicationFields, record),
      messageOf: messageOfApplication,
      desired: applicationOf,
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
    async delete({ clientId: id, ...request }, context) {
      const impact = await calls.delete({ ...request, id }, context);
      return impact === undefined ? {} : { impact };
    },
    ...deletedApplicationCalls(deps),
    ...secretCalls(deps),
  };
}
