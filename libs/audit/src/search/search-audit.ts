import { fromJson, type JsonValue } from '@bufbuild/protobuf';
import { AuditEventSchema, AuditService, type AuditEvent } from '@tessera/proto-gen/admin-audit';
import { pageOf, route, type Route } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { auditPage, auditPageToken } from './audit-page.ts';

/** Rows that one call looks through at most. */
const usualRowsAtOnce = 20_000;

/**
 * Searches the audit trail of one schema. It has no index but the one by time, as every token would have to be written
 * to another too: so a call reads a bounded stretch of it, whatever it finds there.
 */
export function auditRoute(database: Database, schema: string, rowsAtOnce = usualRowsAtOnce): Route {
  return route(AuditService, {
    async search(request) {
      const { from, before, size } = auditPage(request);
      const { tenantId, actor, event, about, outcome } = request;
      const { rows } = await database.query<FoundRow>({
        name: `audit.${schema}.search`,
        text: searchIn(schema),
        values: [before, from, rowsAtOnce, tenantId, event, actor, about, outcome, size + 1],
      });
      const found = rows.flatMap(({ record }) => (record === null ? [] : [messageOf(record)]));
      const { page: events, last } = pageOf(found, { size });
      const oldest = rows[0]?.oldest ?? from;
      const next = last?.eventId ?? (oldest === from ? undefined : oldest);
      return { events, nextPageToken: auditPageToken(next, request) };
    },
  });
}

interface FoundRow {
  /** Every event from this one on was looked at. */
  readonly oldest: string;
  /** Null in the only row, if nothing was found. */
  readonly record: JsonValue;
}

/**
 * $1 before and $2 from which event, $3 rows to look through, $4 tenant, $5 event, $6 actor, $7 about, $8 outcome, $9
 * limit
 */
const searchIn = (schema: string) => `
  WITH stretch AS (
    SELECT coalesce(
      (SELECT event_id FROM ${schema}.audit_event WHERE event_id < $1 AND event_id >= $2
       ORDER BY event_id DESC OFFSET $3::int LIMIT 1), $2) AS oldest
  )
  SELECT stretch.oldest, found.record
  FROM stretch LEFT JOIN LATERAL (
    SELECT event_id, record FROM ${schema}.audit_event
    WHERE event_id < $1 AND event_id >= stretch.oldest
      AND ($4 = '' OR tenant_id = $4)
      AND ($5 = '' OR event = $5 OR ($5 LIKE '%.' AND starts_with(event, $5)))
      AND ($6 = '' OR record #>> '{actor,id}' = $6)
      AND ($7 = '' OR $7 IN (record ->> 'subject', record ->> 'clientId', record ->> 'sessionId', record ->> 'grantId', record ->> 'requestId')
        OR EXISTS (SELECT FROM jsonb_each_text(record -> 'details') AS detail WHERE detail.value = $7))
      AND ($8 = '' OR outcome = $8)
    ORDER BY event_id DESC LIMIT $9::int
  ) AS found ON true
  ORDER BY found.event_id DESC`;

/** What a newer version has written more is left out. */
function messageOf(record: JsonValue): AuditEvent {
  return fromJson(AuditEventSchema, record, { ignoreUnknownFields: true });
}
