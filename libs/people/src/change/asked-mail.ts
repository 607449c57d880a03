import { insertAuditRows, lockTenant, type AuditRuntime } from '@tessera/directory/ground';
import { findUserByIdentifier, normalizeIdentifier, type FoundUser } from '@tessera/directory/records';
import type { Database, Queryable } from '@tessera/stores';
import { takeMail, type ClaimedMail } from '../mail/outbox.postgres.ts';
import type { MailContent, Outbox } from '../mail/outbox.ts';
import { maySignIn } from './may-sign-in.ts';

/** What becomes of a mail that somebody asked for, and named nothing but an identifier. */
interface Answer {
  /** The audit event where nothing is sent. */
  readonly refusedAs: string;
  /** Why somebody who may sign in and has an address does not get it, in one word; undefined if they do. */
  readonly refuses: (tx: Queryable, found: FoundUser) => Promise<string | undefined> | string | undefined;
  /** Makes the mail, in the transaction that takes the request. */
  readonly send: (tx: Queryable, found: FoundUser) => Promise<void>;
}

interface AskedMailDeps extends AuditRuntime {
  readonly database: Database;
  readonly outbox: Pick<Outbox, 'count'>;
}

/**
 * Answers a request that was kept for the worker, so that the time of its answer told nobody who has an account: makes
 * the mail, or records why not. Who asked is told nothing of it.
 */
export async function answerAskedMail(
  { database, outbox, ...runtime }: AskedMailDeps,
  asked: ClaimedMail,
  { identifier = '', ipAddress = '', requestId = '' }: MailContent,
  { refusedAs, refuses, send }: Answer,
): Promise<void> {
  const { tenantId, remainingSeconds } = asked;

  async function refusalOf(tx: Queryable, found: FoundUser): Promise<string | undefined> {
    const { email } = found.user;
    if (!maySignIn(found)) return 'inactive';
    if (email === '') return 'no_address';
    return (await refuses(tx, found)) ?? ((await outbox.count(tx, tenantId, email)) ? undefined : 'limited');
  }

  await database.transaction(async (tx) => {
    await lockTenant(tx, tenantId, 'together');
    if (!(await takeMail(tx, asked))) return;
    const found = await findUserByIdentifier(tx, tenantId, normalizeIdentifier(identifier));
    const refusal =
      remainingSeconds <= 0 ? 'expired' : found === undefined ? 'unknown' : await refusalOf(tx, found);
    if (found !== undefined && refusal === undefined) return send(tx, found);
    const event = { event: refusedAs, outcome: 'failure', tenantId, reason: refusal ?? '' } as const;
    const subject = found && { subject: found.user.userId };
    await insertAuditRows(tx, [{ ...event, ...subject, ipAddress, requestId }], runtime);
  });
}
