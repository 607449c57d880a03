import { startOf, type Clock, type Random } from '@tessera/kit';
import type { Database, Queryable } from '@tessera/stores';
import { notFound, insertAuditRows, lockTenant, waysInOf } from '@tessera/directory/ground';
import {
  lockRecord,
  type FoundUser,
  findTenant,
  longestIdentifier,
  normalizeIdentifier,
  findUserByIdentifier,
} from '@tessera/directory/records';
import { maySignIn } from '../change/may-sign-in.ts';
import { isServedAt } from '../change/served-at.ts';
import type { PasswordLinks } from './password-links.ts';
import type { MailContent, Outbox } from '../mail/outbox.ts';
import { takeMail, type ClaimedMail } from '../mail/outbox.postgres.ts';

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
  /** Keeps a request, with the same work whether or not there is such an account. Throws NotFound for a tenant that is not served there. */
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

    async answer(mail, { identifier = '', language, ipAddress = '', requestId = '' }) {
      const { tenantId } = mail;
      await database.transaction(async (tx) => {
        await lockTenant(tx, tenantId, 'together');
        if (!(await takeMail(tx, mail))) return;
        const found = await findUserByIdentifier(tx, tenantId, normalizeIdentifier(identifier));
        const refusal = await refusalOf(tx, mail, found);
        if (found === undefined || refusal !== undefined) {
          const event = {
            event: 'auth.reset.refused',
            outcome: 'failure',
            reason: refusal ?? 'unknown',
          } as const;
          const subject = found && { subject: found.user.userId };
          await insertAuditRows(tx, [{ ...event, ...subject, tenantId, ipAddress, requestId }], runtime);
          return;
        }
        const { userId } = found.user;
        // As by every change of the person, whom the link must find as they are now.
        const locked = await lockRecord(tx, 'user', tenantId, userId);
        const mailId = outbox.newId();
        const origin = { actor: { type: 'system', id: 'directory' }, ipAddress, requestId } as const;
        const person = {
          tenant: found.tenant,
          userId,
          purpose: 'reset',
          link: outbox.linkOf(mailId),
          ...(locked && { mailedTo: locked.record.email }),
        } as const;
        await links.add(tx, person, origin);
        const content = language === undefined ? {} : { language };
        await outbox.add(
          tx,
          { tenantId, userId, kind: 'reset', content, lifetimeSeconds: mailSeconds },
          mailId,
        );
      });
    },
  };

  /** Why nothing is sent; the person who asked is told nothing of it. */
  async function refusalOf(
    tx: Queryable,
    { tenantId, remainingSeconds }: ClaimedMail,
    found: FoundUser | undefined,
  ): Promise<string | undefined> {
    if (remainingSeconds <= 0) return 'expired';
    if (found === undefined) return 'unknown';
    if (!maySignIn(found)) return 'inactive';
    const { userId, email } = found.user;
    if (email === '') return 'no_address';
    const ways = await waysInOf(tx, { tenantId, userId });
    // A password would be a second way in, past what the provider or the passkey asks for.
    if (ways.length > 0 && !ways.includes('password')) return 'no_password';
    return (await outbox.count(tx, tenantId, email)) ? undefined : 'limited';
  }
}
