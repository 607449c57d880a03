import { startOf, type Clock, type Random } from '@tessera/kit';
import type { Database, Queryable } from '@tessera/stores';
import { notFound, insertAuditRows, type WayIn, waysInOf } from '@tessera/directory/ground';
import { lockRecord, type FoundUser, findTenant, longestIdentifier } from '@tessera/directory/records';
import { answerAskedMail } from '../change/asked-mail.ts';
import { isServedAt } from '../change/served-at.ts';
import type { PasswordLinks } from './password-links.ts';
import type { MailContent, Outbox } from '../mail/outbox.ts';
import type { ClaimedMail } from '../mail/outbox.postgres.ts';

export interface ResetRequestsDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly random: Random;
  readonly outbox: Outbox;
  readonly links: Pick<PasswordLinks, 'add'>;
  /** Before the first look at a request, in seconds. */
  readonly delaySeconds: number;
}

/** What a person asks for who has forgotten the password. */
interface ResetRequest {
  readonly tenantId: string;
  /** The tenant at whose own issuer it is asked for; empty at the shared issuer. */
  readonly issuerTenantId: string;
  readonly identifier: string;
  readonly language: string;
  readonly ipAddress: string;
  readonly requestId: string;
}

/** Requests for a new password. */
export interface ResetRequests {
  /**
   * Keeps a request, with the same work whether or not there is such an account. Throws NotFound for a tenant that is
   * not served there.
   */
  keep(request: ResetRequest): Promise<void>;
  /** Makes a mail of a request, if it may; nobody waits for it. */
  answer(mail: ClaimedMail, said: MailContent): Promise<void>;
}

/** A mail that comes later is of no use. */
const requestSeconds = 3600;
/** As long as the link. */
const mailSeconds = 3600;
const longestLanguage = 35;

export function createResetRequests({
  database,
  outbox,
  links,
  delaySeconds,
  ...runtime
}: ResetRequestsDeps): ResetRequests {
  return {
    async keep({ tenantId, issuerTenantId, identifier, language, ipAddress, requestId }) {
      await database.transaction(async (tx) => {
        const tenant = await findTenant(tx, tenantId);
        if (!isServedAt(tenant, issuerTenantId)) throw notFound('The tenant');
        const content = {
          identifier: startOf(identifier, longestIdentifier),
          language: language.slice(0, longestLanguage),
          ipAddress,
          requestId,
        };
        const kept = { tenantId, userId: '', kind: 'reset-request', content } as const;
        await outbox.add(tx, { ...kept, lifetimeSeconds: requestSeconds, delaySeconds });
        const event = { event: 'auth.reset.requested', outcome: 'success', tenantId } as const;
        await insertAuditRows(tx, [{ ...event, ipAddress, requestId }], runtime);
      });
    },

    answer: (asked, said) =>
      answerAskedMail({ database, outbox, ...runtime }, asked, said, {
        refusedAs: 'auth.reset.refused',
        refuses: refusesWhoHasNoPassword,
        send: (tx, found) => mail(tx, found, said),
      }),
  };

  async function mail(
    tx: Queryable,
    { tenant, user: { userId } }: FoundUser,
    { language, ipAddress = '', requestId = '' }: MailContent,
  ): Promise<void> {
    const { tenantId } = tenant;
    // As by every change of the person, whom the link must find as they are now.
    const locked = await lockRecord(tx, 'user', tenantId, userId);
    const mailId = outbox.newId();
    const origin = { actor: { type: 'system', id: 'directory' }, ipAddress, requestId } as const;
    const person = {
      tenant,
      userId,
      purpose: 'reset',
      link: outbox.linkOf(mailId),
      ...(locked && { mailedTo: locked.record.email }),
    } as const;
    await links.add(tx, person, origin);
    const content = language === undefined ? {} : { language };
    const kept = { tenantId, userId, kind: 'reset', content } as const;
    await outbox.add(tx, { ...kept, lifetimeSeconds: mailSeconds }, mailId);
  }
}

/**
 * Whether somebody with these ways in may have a new password by mail. To those who have none it would be a second way
 * in, past what the provider or the passkey asks for.
 */
export function mayResetByMail(ways: readonly WayIn[]): boolean {
  return ways.length === 0 || ways.includes('password');
}

async function refusesWhoHasNoPassword(
  tx: Queryable,
  { tenant: { tenantId }, user: { userId } }: FoundUser,
): Promise<string | undefined> {
  return mayResetByMail(await waysInOf(tx, { tenantId, userId })) ? undefined : 'no_password';
}
