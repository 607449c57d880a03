/**
 * The audit trail: rows, batches of refusals, flood limits and retention. It owns the shape of a row; each service owns its events.
 */
export { createAuditBatch } from './audit-batch.ts';
export type { AuditBatch } from './audit-batch.ts';
export { startAuditPurge } from './audit-purge.ts';
export { auditRow } from './audit.ts';
export type { AuditEvent, AuditRow } from './audit.ts';
