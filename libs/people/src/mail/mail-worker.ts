import { setTimeout as pause } from 'node:timers/promises';
import type { AuditEvent } from '@tessera/audit';
import { attempt, startWorker, type Worker } from '@tessera/delivery';
import { TimeLimitError, within } from '@tessera/kit';
import type { Sent } from '@tessera/outbound';
import type { Runtime } from '@tessera/process';
import { type DirectoryStore, normalizeIdentifier } from '@tessera/directory/records';
import type { Letters } from './letters.ts';
import type { MailContent, Outbox } from './outbox.ts';
import { claimMails, finishMail, postponeMail, type ClaimedMail } from './outbox.postgres.ts';
import type { Letter, MailTransport } from './smtp.ts';

/**
 * What becomes of what people asked for, by its kind: in one transaction it is deleted, and perhaps followed by a mail.
 */
export type Requests = Readonly<Record<string, (mail: ClaimedMail, said: MailContent) => Promise<void>>>;

export interface MailWorkerDeps {
  readonly outbox: Outbox;
  readonly letters: Letters;
  readonly requests: Requests;
  readonly store: Pick<DirectoryStore, 'findUser' | 'findTenant' | 'findUserByIdentifier'>;
  readonly transport: MailTransport;
  /** Address that mail comes from. */
  readonly from: string;
  readonly sharedIssuer: string | undefined;
  readonly runtime: Pick<Runtime, 'database' | 'clock' | 'random' | 'log' | 'failpoint'>;
  /** Shorter pauses, for tests. */
  readonly pace?: MailPace | undefined;
}

/** Pauses of a worker. */
export interface MailPace {
  /** Between attempts to send one mail, in seconds. */
  readonly delays: readonly number[];
  /** Between looks for mail. */
  readonly lookMs: number;
  /**
   * Before the first look at a request, in seconds: some time after its answer, so that the load of one does not show
   * in the next.
   */
  readonly requestDelay: number;
}

/** The last pause repeats until the mail expires: a server may be unavailable for hours. */
export const usualPace: MailPace = { delays: [2, 5, 15, 30, 60], lookMs: 1_000, requestDelay: 0.5 };
/** An attempt takes at most `attemptMs`; if its process dies, another one goes on after the lease. */
const leaseSeconds = 120;
const attemptMs = 60_000;
const recordPauseMs = 1_000;

/** One server takes all mail, so the bounds of the worker for one receiver hold for it. */
type DueMail = ClaimedMail & { readonly clientId: 'smtp' };

/**
 * Sends what waits in the outbox, at least once: a mail whose process dies after the server took it, and before that is
 * recorded, is sent again with the same Message-ID. Any number of processes may do so.
 */
export function startMailWorker(deps: MailWorkerDeps): Worker {
  const { transport, runtime, pace = usualPace } = deps;
  // One that only a later version knows is left to it.
  const kinds = [...Object.keys(deps.requests), ...deps.letters.kinds];
  /** Mails that the server has, while Postgres does not know it yet. */
  const sent = new Set<string>();
  const worker = startWorker<DueMail>({
    async claim(limit, skipped) {
      if (skipped.length > 0) return [];
      const mails = await claimMails(runtime.database, { limit, leaseSeconds, kinds });
      return mails.map((mail) => ({ ...mail, clientId: 'smtp' }));
    },
    deliver: (mail, closing) => deliver(deps, mail, { closing, sent, wake: () => worker.wake() }),
    log: runtime.log,
    pauseMs: pace.lookMs,
  });
  return {
    ...worker,
    async close() {
      await worker.close();
      transport.close();
    },
  };
}

interface Around {
  readonly closing: AbortSignal;
  readonly sent: Set<string>;
  readonly wake: () => void;
}

async function deliver(
  deps: MailWorkerDeps,
  mail: ClaimedMail,
  { closing, sent, wake }: Around,
): Promise<void> {
  const { requests, runtime, transport, pace = usualPace } = deps;
  const request = requests[mail.kind];
  if (request !== undefined) {
    await request(mail, await deps.outbox.open(mail));
    return wake();
  }
  const event = { tenantId: mail.tenantId, ...(mail.userId !== '' && { subject: mail.userId }) };
  const details = { kind: mail.kind, attempts: String(mail.attempt) };
  const done = sent.has(mail.mailId)
    ? ({ next: 'delivered' } as const)
    : await attempt(
        { mode: 'mail', number: mail.attempt, remainingSeconds: mail.remainingSeconds },
        {
          messageOf: async () => (mail.remainingSeconds <= 0 ? 'expired' : letterOf(deps, mail)),
          send: (letter) => send(transport, letter),
          rules: { delays: pace.delays, mostAttempts: Infinity },
          log: runtime.log,
          closing,
        },
      );
  switch (done.next) {
    case 'delivered':
      runtime.failpoint('mail.after_send');
      sent.add(mail.mailId);
      await recordSent(deps, mail, { ...event, event: 'mail.sent', outcome: 'success', details }, closing);
      sent.delete(mail.mailId);
      return;
    case 'failed':
      await finishMail(runtime.database, runtime, mail, {
        ...event,
        event: 'mail.failed',
        outcome: 'failure',
        reason: done.reason,
        details,
      });
      return;
    default:
      await postponeMail(runtime.database, mail, {
        delaySeconds: done.delaySeconds,
        lastError: done.next === 'retry' ? done.reason : undefined,
      });
  }
}

/**
 * Postgres may be unavailable just now: as long as this process alone holds the mail, it tries to record that it was
 * sent.
 */
async function recordSent(
  { runtime }: MailWorkerDeps,
  mail: ClaimedMail,
  event: AuditEvent,
  closing: AbortSignal,
): Promise<void> {
  const until = runtime.clock.now() + leaseSeconds * 1000 - attemptMs;
  for (;;) {
    try {
      await finishMail(runtime.database, runtime, mail, event);
      return;
    } catch (error) {
      if (closing.aborted || runtime.clock.now() >= until) throw error;
      await pause(recordPauseMs, undefined, { ref: false });
    }
  }
}

async function send(transport: MailTransport, letter: Letter): Promise<Sent> {
  try {
    return await within(attemptMs, transport.send(letter));
  } catch (error) {
    if (error instanceof TimeLimitError) return { outcome: 'failed', reason: 'timeout' };
    throw error;
  }
}

/**
 * The addresses that mail is sent to: those that no header or command needs quotes for (RFC 5321 §4.1.2, RFC 6531).
 * What else looks like one could be read as several, and one of them as somebody else's.
 */
const mailAddress = /^[^\s\p{Cc}()<>[\]:;@\\,"]+@[^\s\p{Cc}()<>[\]:;@\\,"]+$/u;

/** The mail by the present records or, as a string, the reason why it is not sent. */
async function letterOf(
  { outbox, letters, store, from, sharedIssuer }: MailWorkerDeps,
  mail: ClaimedMail,
): Promise<Letter | string> {
  const { mailId, tenantId, userId, kind } = mail;
  const content = await outbox.open(mail);
  const found = userId === '' ? undefined : await store.findUser(tenantId, userId);
  const tenant = userId === '' ? await store.findTenant(tenantId) : found?.tenant;
  if (tenant?.status !== 'active') return 'gone';
  const to = content.to ?? found?.user.email ?? '';
  if (!mailAddress.test(to)) return 'no_address';
  // Of no use, as the link would confirm nothing; and nobody is written to about the account of somebody else.
  if (kind === 'verification' && (await isOfAnother(store, mail, to))) return 'taken';
  const issuer = tenant.issuer || sharedIssuer;
  if (issuer === undefined) return 'no_issuer';
  const { subject, text, html } = letters.write(
    {
      kind,
      mailId,
      content,
      tenantId,
      tenantName: tenant.name,
      username: found?.user.username ?? content.username ?? to,
      issuer,
      link: outbox.linkOf(mailId, kind === 'verification' ? 'te_' : 'tl_'),
    },
    [found?.user.standardClaims.locale, content.language],
  );
  const domain = from.slice(from.lastIndexOf('@') + 1);
  return {
    messageId: `<${mailId}@${domain}>`,
    from: { name: tenant.name, address: from },
    to,
    subject,
    text,
    html,
  };
}

async function isOfAnother(
  store: Pick<DirectoryStore, 'findUserByIdentifier'>,
  { tenantId, userId }: ClaimedMail,
  address: string,
): Promise<boolean> {
  const holder = await store.findUserByIdentifier(tenantId, normalizeIdentifier(address));
  return holder !== undefined && holder.user.userId !== userId;
}
