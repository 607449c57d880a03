import type { Application, ListApplicationsRequestSchema } from '@tessera/proto-gen/admin-applications';
import { pageRequest, timestampFromMs, type MessageShape } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { narrowedApplications, usesOfApplications } from '../applications/read.postgres.ts';
import { listed } from '../records/record-calls.ts';
import { listRecords } from '../store/read-records.postgres.ts';
import { messageOfApplication } from './forms/application-form.ts';

type Asked = MessageShape<typeof ListApplicationsRequestSchema>;

/** A page of the applications of a tenant, or of those of which holds what is asked, with what they are made for. */
export async function listApplications(database: Database, asked: Asked) {
  const { tenantId, pageSize, pageToken, search, kind, status, owner } = asked;
  const conditions = [kind, status, owner];
  const isNarrowed = conditions.some((value) => value !== '');
  // The token of a page is for the same conditions alone.
  const page = pageRequest({
    pageSize,
    pageToken,
    search: isNarrowed ? JSON.stringify([search, ...conditions]) : search,
  });
  const { found, nextPageToken } = await listed(database, 'application', tenantId, page, async () =>
    isNarrowed
      ? listRecords(
          database,
          'application',
          tenantId,
          { ...page, search },
          {
            name: 'narrow_application_records',
            condition: narrowedApplications,
            values: conditions,
          },
        )
      : listRecords(database, 'application', tenantId, page),
  );
  return {
    applications: await withUses(database, tenantId, found.map(messageOfApplication)),
    nextPageToken,
  };
}

/** The same applications with what they are made for, and when they were last used. */
export async function withUses(
  database: Database,
  tenantId: string,
  applications: readonly Application[],
): Promise<Application[]> {
  const uses = await usesOfApplications(
    database,
    tenantId,
    applications.map(({ clientId }) => clientId),
  );
  const byId = new Map(uses.map((use) => [use.clientId, use]));
  return applications.map((application) => {
    const { kind = '', lastUsedAt } = byId.get(application.clientId) ?? {};
    const lastUseTime = lastUsedAt ? timestampFromMs(lastUsedAt.getTime()) : undefined;
    return { ...application, kind, ...(lastUseTime && { lastUseTime }) };
  });
}
