import type { Drafts } from '../mail/letters.ts';
import type { MailCodes } from './mail-codes.ts';

/** The letters with a code: to who signs in with it alone, and to who has given a password. */
export function mailCodeLetters({ codeOf }: Pick<MailCodes, 'codeOf'>): Drafts {
  const letter =
    (advice: string): Drafts[string] =>
    ({ mailId, tenantName: tenant, username }, { t }) => ({
      subject: t('Your sign-in code for {tenant}', { tenant }),
      paragraphs: [
        t('{code} is your code to sign in to your account {username} at {tenant}.', {
          code: codeOf(mailId),
          username,
          tenant,
        }),
        t('It works once, within ten minutes, on the page where you asked for it.'),
      ],
      notes: [
        t('Nobody will ask you for this code. Enter it on that page alone.'),
        t(advice),
        t("This mailbox isn't monitored."),
      ],
    });
  return {
    'mail-code': letter("If it wasn't you, ignore this email."),
    'mail-code-second': letter('If it was not you, change your password and tell your administrator.'),
  };
}
