import {
  pageRequest,
  pageToken,
  type CallContext,
  type DescMessage,
  type MessageShape,
  type PageRequest,
} from '@tessera/rpc';
import type { Database, Queryable } from '@tessera/stores';
import type { z } from 'zod';
import type { RecordKind, RestorableKind, RecordOf } from '../record-kinds.ts';
import { listDeleted } from '../deleted/deleted-records.postgres.ts';
import type { StatusName } from '../fields/status.ts';
import { notFound } from '../ground/refusals.ts';
import { findRecord, listRecords } from '../store/read-records.postgres.ts';
import type { RecordTransaction } from '../store/store.ts';
import { called } from './change-records.ts';
import type { Outcome, RecordChanges } from './change-requests.ts';
import { updatedEntry, type Entry, type RecordForm } from './record-form.ts';
import { statusAlone } from './status-alone.ts';
import { digested, refuseOtherOwner, writerOf } from './writers.ts';

export interface RecordCallsDeps {
  /** For the functions in the read files of the kinds. */
  readonly database: Database;
  readonly records: RecordChanges;
}

/** What distinguishes a kind whose records have the key that their declaration gives them. */
interface Noun<K extends RecordKind, D extends DescMessage> {
  readonly kind: K;
  readonly form: RecordForm<D>;
  /** Of the status, for a kind that has one. */
  readonly status?: z.ZodType<StatusName | undefined>;
  /** The entry that asks for a record. */
  entryOf(record: RecordOf[K]): Entry;
  messageOf(outcome: Outcome<RecordOf[K]>): MessageShape<D>;
  /** The record of this owner that an entry asks for. Throws ConnectError for broken rules. */
  desired(
    entry: Entry,
    owner: string,
    present: RecordOf[K] | undefined,
    around: RecordTransaction,
  ): Promise<RecordOf[K]>;
}

interface Intent {
  readonly tenantId: string;
  /** As whom the caller writes; empty: `api`. */
  readonly owner: string;
  readonly validateOnly: boolean;
}

interface ChangeIntent extends Intent {
  readonly id: string;
  readonly etag: string;
  readonly takeOver: boolean;
  readonly impact?: boolean;
}

/** The standard methods of a kind, without the names of their fields. */
export function recordCalls<K extends RecordKind, D extends DescMessage>(
  { kind, form, status, entryOf, messageOf, desired }: Noun<K, D>,
  { database, records }: RecordCallsDeps,
) {
  return {
    async get(tenantId: string, id: string) {
      const found = await findRecord(database, kind, tenantId, id);
      if (found === undefined) throw notFound(called(kind));
      return messageOf(found);
    },

    async list(tenantId: string, page: Parameters<typeof pageRequest>[0]) {
      const { found, nextPageToken } = await listed(database, kind, tenantId, pageRequest(page));
      return { found: found.map(messageOf), nextPageToken };
    },

    async create(
      given: MessageShape<D> | undefined,
      request: Intent & { readonly id: string; readonly requestId: string },
      context: CallContext,
    ) {
      const { owner: named, ...content } = request;
      const entry = form.entryOf(given);
      const writer = writerOf(named);
      refuseOtherOwner(kind, form.ownerIn(given), [writer]);
      const created = await records.create(
        kind,
        {
          ...content,
          content: { ...content, ...digested(writer), record: entry },
          draft: async (around) => desired(entry, writer, undefined, around),
        },
        context,
      );
      return messageOf(created);
    },

    async update(
      given: MessageShape<D> | undefined,
      {
        updateMask,
        owner,
        ...request
      }: ChangeIntent & { readonly updateMask?: { readonly paths: string[] } | undefined },
      context: CallContext,
    ) {
      const entry = form.entryOf(given);
      const paths = form.pathsOf(updateMask, entry);
      const writer = writerOf(owner);
      const updated = await records.update(
        kind,
        {
          ...request,
          writer,
          saidOwner: form.ownerIn(given),
          status: status && statusAlone(form, status, entry, paths),
          draft: async (present, around) =>
            desired(updatedEntry(entryOf(present), entry, paths), writer, present, around),
        },
        context,
      );
      return messageOf(updated);
    },

    /** Resolves with what it would end, if that was asked. */
    async delete(
      {
        owner,
        ...request
      }: ChangeIntent & {
        /** Throws ConnectError if the record must stay. */
        readonly allow?: (present: RecordOf[K], around: RecordTransaction) => Promise<void>;
      },
      context: CallContext,
    ) {
      return records.delete(kind, { ...request, writer: writerOf(owner) }, context);
    },
  };
}

/**
 * A page of the records of a tenant, or of tenants with `tenantId` ''. Throws NotFound for a tenant that does not
 * exist.
 */
export async function listed<K extends RecordKind>(
  database: Queryable,
  kind: K,
  tenantId: string,
  request: PageRequest,
  read = async () => listRecords(database, kind, tenantId, request),
) {
  const { records: found, next } = await read();
  if (found.length === 0 && tenantId !== '') await refuseUnknownTenant(database, tenantId);
  return { found, nextPageToken: pageToken(next, request) };
}

/** As `listed`, of the records that can be restored. */
export async function listedDeleted<K extends RestorableKind>(
  database: Queryable,
  kind: K,
  tenantId: string,
  request: PageRequest,
) {
  const { records: found, next } = await listDeleted<RecordOf[K]>(database, kind, tenantId, request);
  if (found.length === 0) await refuseUnknownTenant(database, tenantId);
  return { found, nextPageToken: pageToken(next, request) };
}

async function refuseUnknownTenant(database: Queryable, tenantId: string): Promise<void> {
  if ((await findRecord(database, 'tenant', tenantId, tenantId)) === undefined) throw notFound('The tenant');
}
