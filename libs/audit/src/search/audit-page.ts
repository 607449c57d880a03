import { ulidTime } from '@tessera/kit';
import type { SearchAuditRequest } from '@tessera/proto-gen/admin-audit';
import { invalidFields } from '@tessera/rpc';
import { createHash } from 'node:crypto';

const usualSize = 50;
const largestSize = 1000;

/** After every ULID. */
const end = 'Z'.repeat(26);

/** Which events a page is made from: those with identifiers from `from` up to, but without, `before`. */
export interface AuditPage {
  readonly from: string;
  readonly before: string;
  readonly size: number;
}

/** The page that a request asks for. Throws InvalidArgument for a token of another search, or none of ours. */
export function auditPage(request: SearchAuditRequest): AuditPage {
  const { startTime, endTime, pageSize, pageToken, outcome } = request;
  if (pageSize < 0) throw invalidFields([{ field: 'pageSize', description: 'must not be negative' }]);
  if (!['', 'success', 'failure'].includes(outcome))
    throw invalidFields([{ field: 'outcome', description: 'must be success or failure' }]);
  return {
    from: startTime === undefined ? '' : ulidTime(milliseconds(startTime)),
    before:
      pageToken === '' ? (endTime === undefined ? end : ulidTime(milliseconds(endTime))) : continued(request),
    size: Math.min(pageSize === 0 ? usualSize : pageSize, largestSize),
  };
}

/** The token of the page that ends before an event; empty without one. */
export function auditPageToken(before: string | undefined, request: SearchAuditRequest): string {
  return before === undefined ? '' : `${before}${digestOf(request)}`;
}

/** Before which event a page of this search ends. */
export function continued(request: SearchAuditRequest): string {
  const [, before = '', digest] = /^([0-9A-Z]{26})([\w-]{11})$/.exec(request.pageToken) ?? [];
  if (digest === undefined)
    throw invalidFields([{ field: 'pageToken', description: 'is not a token of a page' }]);
  if (digest !== digestOf(request))
    throw invalidFields([{ field: 'pageToken', description: 'belongs to another search' }]);
  return before;
}

function digestOf(request: SearchAuditRequest): string {
  const { tenantId, actor, event, about, outcome, startTime, endTime } = request;
  const times = [startTime, endTime].map((time) => (time === undefined ? null : milliseconds(time)));
  const text = JSON.stringify([tenantId, actor, event, about, outcome, ...times]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 11);
}

function milliseconds({ seconds, nanos }: { readonly seconds: bigint; readonly nanos: number }): number {
  return Number(seconds) * 1000 + nanos / 1_000_000;
}
