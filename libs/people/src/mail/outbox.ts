import { createHmac, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { opaqueValue, type Random } from '@tessera/kit';
import type { Queryable } from '@tessera/stores';
import { createSealing, derivedKey } from '@tessera/directory/ground';
import { normalizeIdentifier } from '@tessera/directory/records';
import { countMail, putMail, type StoredMail } from './outbox.postgres.ts';

/**
 * What a mail says, besides those of ways to sign in, which bring their own. `-request` is what a person asked for, and
 * becomes one of the others if there is such an account.
 */
export const mailKinds = [
  'reset-request',
  'invitation',
  'reset',
  'verification',
  'notice',
  'registration-request',
  'registration',
  'account-exists',
  'sign-in',
  'wrong-codes',
] as const;

export type MailKind = (typeof mailKinds)[number];

/** Mail that warns a person of what happened to their account: no administrator keeps it from them. */
export const warnings: readonly string[] = ['notice', 'sign-in', 'wrong-codes'] satisfies MailKind[];

/** What people are told of that was changed about how they sign in. */
export const announcedChanges = [
  'password',
  'password-set',
  'recovery-codes-replaced',
  'totp-added',
  'passkey-added',
  'passkey-removed',
  'totp-removed',
  'factors-removed',
  'locked-down',
  'email-changed',
  'provider-linked',
  'provider-unlinked',
  'account-closed',
] as const;

/** What only the sender of a mail needs to know. */
const content = z.object({
  /** As a person typed it, in a request. */
  identifier: z.string().optional(),
  /** Address of the recipient, if it is not the person's. */
  to: z.string().optional(),
  /** Of a recipient whose account is gone. */
  username: z.string().optional(),
  /** What a notice tells of. */
  change: z.enum(announcedChanges).optional(),
  /** The visit that a person goes on with. */
  interactionId: z.string().optional(),
  /** The language of the request, for people who have none on record. */
  language: z.string().optional(),
  /** When and with what browser a person signed in; milliseconds since the Unix epoch. */
  signedInAt: z.number().optional(),
  userAgent: z.string().optional(),
  /** Address and request of the person. */
  ipAddress: z.string().optional(),
  requestId: z.string().optional(),
});

export type MailContent = z.infer<typeof content>;

export interface NewMail {
  readonly tenantId: string;
  /** Empty if nobody has an account yet. */
  readonly userId: string;
  /** One of `mailKinds`, or of a way to sign in. */
  readonly kind: string;
  readonly content: MailContent;
  readonly lifetimeSeconds: number;
  /** Before it is first sent. */
  readonly delaySeconds?: number;
}

/** Mail on its way to people. The worker sends it; nothing else reads what is in it. */
export interface Outbox {
  newId(): string;
  /** The one-time link in a mail: the same in every attempt, and nowhere at rest. */
  linkOf(mailId: string, prefix?: 'tl_' | 'te_'): string;
  /** Keeps a mail in the transaction of what it announces. */
  add(tx: Queryable, mail: NewMail, mailId?: string): Promise<void>;
  /** Throws `temporarily_unavailable` for a mail that was kept under another pepper. */
  open(mail: StoredMail): Promise<MailContent>;
  /** Counts one more mail that somebody asked for; false if its address got too many within an hour. */
  count(tx: Queryable, tenantId: string, address: string): Promise<boolean>;
}

export function createOutbox({
  pepper,
  random,
  mailsPerHour,
}: {
  /** Pepper of the directory. */
  readonly pepper: KeyObject;
  readonly random: Random;
  /** To one address, of those that people ask for. */
  readonly mailsPerHour: number;
}): Outbox {
  const sealing = createSealing(pepper, 'mail.sealing');
  const links = derivedKey(pepper, 'mail.links');
  const recipients = derivedKey(pepper, 'mail.recipients');
  const mac = (key: KeyObject, value: string) => createHmac('sha256', key).update(value).digest();
  const newId = () => opaqueValue('tm_', random);

  return {
    newId,
    linkOf: (mailId, prefix = 'tl_') => `${prefix}${mac(links, mailId).toString('base64url')}`,

    async add(tx, { content: said, delaySeconds = 0, ...mail }, mailId = newId()) {
      const sealed = await sealing.seal(mailId, Buffer.from(JSON.stringify(said)));
      await putMail(tx, { ...mail, mailId, sealed, delaySeconds });
    },

    async open({ mailId, sealed }) {
      return content.parse(JSON.parse((await sealing.open(mailId, sealed)).toString('utf8')));
    },

    async count(tx, tenantId, address) {
      const recipient = mac(recipients, `${tenantId}\0${normalizeIdentifier(address)}`);
      return countMail(tx, { tenantId, recipient, limit: mailsPerHour });
    },
  };
}
