/**
 * The audit trail: rows, batches of refusals, flood limits and retention. It owns the shape of a row; each service owns its events.
 */
export { createAuditBatch, type AuditBatch } from './audit-batch.ts';
export { startAuditPurge } from './audit-purge.ts';
export { auditRow, type AuditEvent, type AuditRow } from './audit.ts';
