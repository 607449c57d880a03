import type { KeyObject } from 'node:crypto';
import { startOf, type Clock, type Random } from '@tessera/kit';
import { mailCodeAlone, mailCodeSecond } from '@tessera/oauth';
import type { Database, Queryable } from '@tessera/stores';
import { insertAuditRows, type AuditRuntime, notFound, type PersonId } from '@tessera/directory/ground';
import {
  findTenant,
  findUser,
  longestIdentifier,
  normalizeIdentifier,
  type DirectoryStore,
  type FoundUser,
} from '@tessera/directory/records';
import { answerAskedMail } from '../change/asked-mail.ts';
import { findActive, type SignedIn } from '../change/may-sign-in.ts';
import type { Origin } from '../change/own-change.postgres.ts';
import { isServedAt } from '../change/served-at.ts';
import { signInTime } from '../change/sign-in-time.postgres.ts';
import type { MailContent, Outbox } from '../mail/outbox.ts';
import type { ClaimedMail } from '../mail/outbox.postgres.ts';
import { countedValues } from '../one-time/counted-values.postgres.ts';
import { codeDigits, createCodeValues } from './code-values.ts';

export interface MailCodesDeps {
  readonly database: Database;
  readonly store: Pick<DirectoryStore, 'findUser'>;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly random: Random;
  /** Pepper of the directory. */
  readonly pepper: KeyObject;
  /** Before the first look at a request, in seconds. */
  readonly delaySeconds: number;
}

interface Asked extends Origin {
  readonly tenantId: string;
  /** Random, and known to one visit of one browser alone: the code works there. */
  readonly visit: string;
  readonly languages: string;
}

/** Codes that people are mailed, and sign in with: after a password, or alone. */
export interface MailCodes {
  /**
   * Keeps a request of somebody who types an identifier, with the same work whether or not there is such an account.
   * Throws NotFound for a tenant that is not served there or does not allow it.
   */
  request(asked: Asked & { readonly issuerTenantId: string; readonly identifier: string }): Promise<void>;
  /** Makes a mail of a request, if it may; nobody waits for it. */
  answer(mail: ClaimedMail, said: MailContent): Promise<void>;
  /**
   * Mails a code to a person who is known. False if they got too much mail, or have no address; throws NotFound for one
   * who may not.
   */
  send(asked: Asked & PersonId): Promise<boolean>;
  /**
   * Judges a code, and uses it up. Undefined for a code that is wrong, used, expired, of another visit, or of somebody
   * else than `userId`, if that is not empty; and for a person who may not sign in, or whose address or password
   * changed since.
   */
  verify(
    presented: PersonId & Origin & { readonly visit: string; readonly code: string },
  ): Promise<SignedIn | undefined>;
  /** The code in a mail: the same in every attempt, and nowhere at rest. */
  codeOf(mailId: string): string;
}

const lifetimeSeconds = 600;
const longestLanguages = 256;
const codeShape = new RegExp(`^\\d{${codeDigits}}$`);
const codes = countedValues('mail_code');

export function createMailCodes(deps: MailCodesDeps): MailCodes {
  const { database, store, outbox, delaySeconds, ...runtime } = deps;
  const { codeOf, holderOf, digestOf } = createCodeValues(deps.pepper);

  /** Mails a code in a transaction: one that was asked for in place of what the request has put. */
  async function mail(
    tx: Queryable,
    found: FoundUser,
    holder: string,
    { languages, ...origin }: Origin & { readonly languages: string },
    kind: 'mail-code' | 'mail-code-second',
  ): Promise<void> {
    const { tenantId } = found.tenant;
    const { userId } = found.user;
    const mailId = outbox.newId();
    const value = { tenantId, holder, digest: digestOf(holder, codeOf(mailId)), kept: keptOf(found) };
    await (kind === 'mail-code' ? codes.replace(tx, value) : codes.put(tx, { ...value, lifetimeSeconds }));
    const content = { language: languages };
    await outbox.add(tx, { tenantId, userId, kind, content, lifetimeSeconds }, mailId);
    const event = { event: 'auth.mail_code.sent', outcome: 'success', tenantId, subject: userId } as const;
    await insertAuditRows(tx, [{ ...event, ...origin }], runtime);
  }

  return {
    codeOf,

    async request({ tenantId, issuerTenantId, identifier, visit, languages, ipAddress, requestId }) {
      const origin = { ipAddress, requestId };
      await database.transaction(async (tx) => {
        const tenant = await findTenant(tx, tenantId);
        if (!isServedAt(tenant, issuerTenantId) || !tenant.signInMethods.includes(mailCodeAlone))
          throw notFound('The tenant');
        const holder = holderOf(visit);
        // No code has this digest. Tries are counted for everybody, as the time of a wrong one would tell who has an
        // account.
        const nobodys = { digest: digestOf(holder, ''), kept: '' };
        await codes.put(tx, { tenantId, holder, ...nobodys, lifetimeSeconds });
        const content = {
          identifier: startOf(identifier, longestIdentifier),
          interactionId: holder,
          language: languages.slice(0, longestLanguages),
          ...origin,
        };
        const kept = { tenantId, userId: '', kind: 'mail-code-request', content } as const;
        await outbox.add(tx, { ...kept, lifetimeSeconds, delaySeconds });
        const event = { event: 'auth.mail_code.requested', outcome: 'success', tenantId } as const;
        await insertAuditRows(tx, [{ ...event, ...origin }], runtime);
      });
    },

    answer: (asked, said) =>
      answerAskedMail({ database, outbox, ...runtime }, asked, said, {
        refusedAs: 'auth.mail_code.refused',
        refuses: (_tx, { tenant }) =>
          tenant.signInMethods.includes(mailCodeAlone) ? undefined : 'not_allowed',
        send: (tx, found) => {
          const {
            interactionId: holder = '',
            language: languages = '',
            ipAddress = '',
            requestId = '',
          } = said;
          return mail(tx, found, holder, { languages, ipAddress, requestId }, 'mail-code');
        },
      }),

    async send({ visit, languages, ipAddress, requestId, ...person }) {
      const found = await findActive(store, person);
      const isAllowed = found?.tenant.signInMethods.some((name) => secondMethods.has(name));
      if (found === undefined || isAllowed !== true) throw notFound('The user');
      if (found.user.email === '') return false;
      return database.transaction(async (tx) => {
        // Counted apart from what anybody may ask for, who could keep the person out with it.
        if (!(await outbox.count(tx, person.tenantId, person.userId))) return false;
        const asked = { languages: languages.slice(0, longestLanguages), ipAddress, requestId };
        await mail(tx, found, holderOf(visit), asked, 'mail-code-second');
        return true;
      });
    },

    async verify({ visit, code, ...presented }) {
      const typed = code.replaceAll(/\s/g, '');
      if (!codeShape.test(typed)) return undefined;
      const holder = holderOf(visit);
      const value = { tenantId: presented.tenantId, holder, digest: digestOf(holder, typed) };
      return database.transaction(async (tx) => useCode(tx, runtime, value, presented));
    },
  };
}

/** Uses a code up, for exactly one caller: who signs in with it, and when. */
async function useCode(
  tx: Queryable,
  runtime: AuditRuntime,
  value: Parameters<typeof codes.use>[1],
  { userId, ipAddress, requestId }: PersonId & Origin,
): Promise<SignedIn | undefined> {
  const { tenantId } = value;
  const kept = await codes.use(tx, value);
  const whose = kept === undefined ? undefined : readKept(kept);
  if (whose === undefined || (userId !== '' && userId !== whose.userId)) return undefined;
  const signedInAt = await signInTime(tx, { tenantId, userId: whose.userId });
  const found = await findUser(tx, tenantId, whose.userId);
  if (signedInAt === undefined || found === undefined || keptOf(found) !== kept) return undefined;
  const event = { event: 'auth.mail_code.used', outcome: 'success', tenantId } as const;
  const who = { subject: whose.userId, actor: { type: 'user', id: whose.userId } } as const;
  await insertAuditRows(tx, [{ ...event, ...who, ipAddress, requestId }], runtime);
  return { found, signedInAt };
}

const secondMethods: ReadonlySet<string> = new Set([mailCodeAlone, mailCodeSecond]);

/**
 * Whose code it is, as they are now: it ends with the address that it was mailed to, and with what ends earlier
 * sign-ins.
 */
function keptOf({ user: { userId, email }, validFrom }: FoundUser): string {
  return JSON.stringify([userId, normalizeIdentifier(email), validFrom]);
}

function readKept(kept: string): { readonly userId: string } | undefined {
  if (kept === '') return undefined;
  const [userId] = JSON.parse(kept) as [string];
  return { userId };
}
