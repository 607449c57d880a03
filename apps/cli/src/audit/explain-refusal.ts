import { timestampDate } from '@bufbuild/protobuf/wkt';
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

/**
 * What to change, by the reason in the audit trail, where a row has no hint of its own. The names are those of
 * `docs/audit.md`.
 */
const changes: Readonly<Record<string, string>> = {
  wrong_credentials:
    'The name or the password was wrong, or the person is disabled or locked: tessera user show. A new password: tessera user reset-link.',
  wrong_factor: 'The password was right, the code was not. A lost device: tessera user reset-factors.',
  role_missing: 'The application is for people with one of its allowedRoles. Give the person the role.',
  login_required:
    'The application asked for an answer without a page (prompt=none), and nobody was signed in.',
  provider_no_account:
    'Nobody here belongs to that account of the provider. Invite the person, or let the provider create accounts.',
  provider_not_recent: 'The provider did not ask the person to sign in again, as the application wants.',
  provider_unreachable: 'The provider did not answer. tessera get shows its issuer.',
  too_few_factors:
    'The sign-in had fewer factors than the tenant or the application asks for. The person signs in again.',
  user_inactive: 'The person is disabled, locked or gone: tessera user show.',
  ended_since: 'Everything issued before has ended since, as by a new password. The person signs in again.',
  expired: 'It came too late. Begin again.',
  revoked: 'It was revoked. tessera audit search --about with its grantId says by whom.',
  reuse_detected: 'A refresh token was used twice, as if it had been stolen. The person signs in again.',
  wrong_verifier: 'The code_verifier does not belong to the code_challenge of the request (RFC 7636).',
  other_client: 'The code is of another application.',
};

/** Of a limit of sign-ins, by whose name the reason begins. */
const afterTooMany =
  'Too many attempts: tessera user show says until when, and tessera user unlock ends it. Of an address (sign-in.address): wait.';

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
  return changes[reason] ?? (reason.startsWith('sign-in.') ? afterTooMany : '');
}
