/**
 * The audit trail: rows, batches of refusals, flood limits and retention. It owns the shape of a row; each service owns
 * its events.
 *
 *     state change ─> auditRow ──> auditInsert, in the statement of the change itself
 *     refusal ─> audit-batch ─> audit-floods counts what is alike ─> one auditInsert every 250 ms ──> <schema>.audit_event
 *     admin ─> search-audit ─> audit-page   rows of one schema, newest first
 *     account page ─> person-events   the latest rows about one person
 *     audit-purge ──> deletes rows older than the retention
 *     console and command ─> what-to-change   sentences for the reasons of refusals
 */
export { createAuditBatch, type AuditBatch } from './audit-batch.ts';
export { auditInsert, auditRecords } from './audit-insert.ts';
export { eventBase, type EventBase } from './event-base.ts';
export { auditPage, auditPageToken } from './search/audit-page.ts';
export { personEvents, type PersonEvent } from './search/person-events.ts';
export { auditRoute } from './search/search-audit.ts';
export { startAuditPurge } from './audit-purge.ts';
export { refusalDetails } from './refusal-details.ts';
export { auditRow, auditRows, type AuditEvent, type AuditRow } from './audit-row.ts';
