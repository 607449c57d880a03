import { timestampDate } from '@bufbuild/protobuf/wkt';
import { knownReason, whatToChange, type KnownReason } from '@tessera/audit/what-to-change';
import { AuditService, type AuditEvent } from '@tessera/proto-gen/admin-audit';
import { readPages, timestampFromMs } from '@tessera/rpc/caller';
import { chosenContext } from '../contexts/chosen-context.ts';
import { withAdministration } from '../operate/records/with-service.ts';
import type { Format } from '../options.ts';
import { printed } from '../print-records.ts';
import { CommandError, type Terminal } from '../terminal.ts';

export interface WhyOptions {
  readonly tenant: string;
  readonly output: Exclude<Format, 'table'>;
}

const timeoutMs = 60_000;
const daysBack = 30;
/** A request leaves few events. */
const most = 50;

/** What helps with a reason, in addition to `whatToChange`. */
const commands: Partial<Readonly<Record<KnownReason, string>>> = {
  wrong_credentials: 'tessera user show, tessera user reset-link, tessera user unlock',
  wrong_factor: 'tessera user reset-factors',
  role_missing: 'tessera user update',
  provider_no_account: 'tessera user invite',
  user_inactive: 'tessera user show',
  revoked: 'tessera audit search --about with its grantId',
  application_inactive: 'tessera application enable',
  secret_mismatch: 'tessera secret list',
  'sign-in.': 'tessera user show, tessera user unlock',
};

/**
 * Says why the request with a reference was refused: by what, whom it concerned, and what to change. Throws
 * CommandError if nothing is known of it.
 */
export async function explainRefusal(
  reference: string,
  { tenant, output }: WhyOptions,
  terminal: Terminal,
): Promise<void> {
  const tenantId = tenant || (await chosenContext(terminal))?.tenant || '';
  const startTime = timestampFromMs(terminal.now() - daysBack * 86_400_000);
  const { found } = await withAdministration(terminal, {
    name: 'Searching the audit trail',
    changes: false,
    timeoutMs,
    run: async (clientOf, call) =>
      readPages(async (page) => {
        const asked = { tenantId, about: reference, startTime, ...page };
        const answer = await clientOf(AuditService).search(asked, call);
        return { found: answer.events, nextPageToken: answer.nextPageToken };
      }, most),
  });
  const ofRequest = found.filter(({ requestId }) => requestId === reference);
  if (ofRequest.length === 0)
    throw new CommandError(
      `The audit trail of the last ${daysBack} days has nothing with the reference ${reference}. What the gateway refuses alone is in its log, by requestId.`,
    );
  const refused = ofRequest.filter(({ outcome }) => outcome === 'failure');
  terminal.out(await printed((refused.length > 0 ? refused : ofRequest).map(shown), output, []));
  if (refused.length === 0) terminal.say('Nothing of this request was refused.\n');
}

function shown(row: AuditEvent) {
  const { time, event, reason, tenantId, clientId, subject, details } = row;
  const { phase = '', received = '', hint = changeFor(reason) } = details;
  const told = {
    tenant: tenantId,
    application: clientId,
    person: subject,
    phase,
    reason,
    received,
    change: hint,
  };
  return {
    ...(time !== undefined && { time: timestampDate(time).toISOString() }),
    event,
    ...Object.fromEntries(Object.entries(told).filter(([, value]) => value !== '')),
  };
}

function changeFor(reason: string): string {
  const known = knownReason(reason);
  const command = known && commands[known];
  return [whatToChange(reason), command && `Commands: ${command}.`].filter(Boolean).join(' ');
}
