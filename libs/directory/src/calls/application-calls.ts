import type { Handlers } from '@tessera/rpc';
import type { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { deletedApplicationCalls } from './deleted-application-calls.ts';
import { applicationFields } from '../applications/fields.ts';
import { recordCalls, type RecordCallsDeps } from '../records/record-calls.ts';
import { entryOf } from '../fields/field.ts';
import { applicationForm, applicationOf, messageOfApplication } from './forms/application-form.ts';
import { listApplications, withUses } from './list-applications.ts';
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
    async get({ tenantId, clientId }) {
      const found = await calls.get(tenantId, clientId);
      const [application = found] = await withUses(deps.database, tenantId, [found]);
      return application;
    },
    list: async (request) => listApplications(deps.database, request),
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
