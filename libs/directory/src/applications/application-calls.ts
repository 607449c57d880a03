import type { Handlers } from '@tessera/rpc';
import type { DirectoryAdminService } from '@tessera/proto-gen/directory';
import { ApplicationRecordSchema } from '@tessera/proto-gen/records';
import { desiredOf, entryOf, valuesOf } from '../fields/field.ts';
import { apiOwner } from '../declared/owner.ts';
import { notFound } from '../messages.ts';
import type { Outcome, RecordChanges } from '../records/change-records.ts';
import { pageRequest, pageToken } from '../records/page-token.ts';
import { recordForm, updatedEntry, type Entry } from '../records/record-form.ts';
import { jwtAudienceAsClientId, jwtAudiencesOf } from '../resources/checks.ts';
import type { AdminStore, RecordTransaction } from '../store/store.ts';
import { checkApplication } from './checks.ts';
import { applicationFields, applicationWithoutSecrets, type ApplicationRecord } from './fields.ts';

export interface ApplicationCallsDeps {
  readonly store: Pick<AdminStore, 'findRecord' | 'listRecords'>;
  readonly records: RecordChanges;
}

type ApplicationCalls =
  'getApplication' | 'listApplications' | 'createApplication' | 'updateApplication' | 'deleteApplication';

const form = recordForm(ApplicationRecordSchema, 'application', Object.keys(applicationFields));

/** The calls that read and change one application, but for its secrets. */
export function applicationCalls({
  store,
  records,
}: ApplicationCallsDeps): Pick<Handlers<typeof DirectoryAdminService>, ApplicationCalls> {
  return {
    async getApplication({ tenantId, clientId }) {
      const found = await store.findRecord('application', tenantId, clientId);
      if (found === undefined) throw notFound('The application');
      return messageOf(found);
    },

    async listApplications({ tenantId, ...page }) {
      const request = pageRequest(page);
      const { records: applications, next } = await store.listRecords('application', tenantId, request);
      return { applications: applications.map(messageOf), nextPageToken: pageToken(next, request) };
    },

    async createApplication({ application: given, ...request }, context) {
      const entry = form.entryOf(given);
      const { clientId: id } = form.parse(applicationWithoutSecrets, entry);
      const created = await records.create(
        'application',
        {
          ...request,
          id,
          isRepeat: ({ clientId }) => clientId === id,
          draft: async (around) => desired(entry, undefined, around),
        },
        context,
      );
      return messageOf(created);
    },

    async updateApplication({ application: given, updateMask, ...request }, context) {
      const entry = form.entryOf(given);
      const paths = form.pathsOf(updateMask, entry);
      const { clientId: id = '', etag = '' } = given ?? {};
      const updated = await records.update(
        'application',
        {
          ...request,
          id,
          etag,
          draft: async (present, around) =>
            desired(updatedEntry(entryOf(applicationFields, present), entry, paths), present, around),
        },
        context,
      );
      return messageOf(updated);
    },

    async deleteApplication({ clientId: id, ...request }, context) {
      await records.delete('application', { ...request, id }, context);
      return {};
    },
  };
}

/** Throws InvalidArgument for broken rules. */
async function desired(
  entry: Entry,
  present: ApplicationRecord | undefined,
  around: RecordTransaction,
): Promise<ApplicationRecord> {
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
}

function messageOf(outcome: Outcome<ApplicationRecord>) {
  return form.messageOf(valuesOf(applicationFields, outcome.record), outcome);
}
