import { ulidTime } from '@tessera/kit';
import type { SearchAuditRequest } from '@tessera/proto-gen/admin-audit';
import { pageRequest, pageToken } from '@tessera/rpc';

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
  const { startTime, endTime } = request;
  const { after: before, size } = pageRequest({ ...request, search: searchOf(request) });
  const last = endTime === undefined ? end : ulidTime(milliseconds(endTime));
  return {
    from: startTime === undefined ? '' : ulidTime(milliseconds(startTime)),
    before: before === '' ? last : before,
    size,
  };
}

/** The token of the page that ends before an event; empty without one. */
export function auditPageToken(before: string | undefined, request: SearchAuditRequest): string {
  return pageToken(before, { search: searchOf(request) });
}

function searchOf({
  tenantId,
  actor,
  event,
  about,
  outcome,
  startTime,
  endTime,
}: SearchAuditRequest): string {
  const times = [startTime, endTime].map((time) => (time === undefined ? null : milliseconds(time)));
  return JSON.stringify([tenantId, actor, event, about, outcome, ...times]);
}

function milliseconds({ seconds, nanos }: { readonly seconds: bigint; readonly nanos: number }): number {
  return Number(seconds) * 1000 + nanos / 1_000_000;
}
