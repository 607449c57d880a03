import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import { browserName, type Language, type Languages } from '@tessera/languages';
import { otherPaths } from '@tessera/oauth';
import type { AnnouncedChange } from './announce.ts';
import type { MailContent, MailKind } from './outbox.ts';

/** Whom a mail is for, and what it is about. */
export interface Addressed {
  readonly kind: string;
  readonly mailId: string;
  readonly content: MailContent;
  readonly tenantId: string;
  readonly tenantName: string;
  readonly username: string;
  /** Of the tenant, without a slash at the end. */
  readonly issuer: string;
  /** The one-time link. */
  readonly link: string;
}

/** What a mail says, as text and as HTML without anything from elsewhere. */
export interface Written {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** A mail, paragraph by paragraph. */
export interface Draft {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  /** Something to do, with its address. */
  readonly action?: { readonly label: string; readonly uri: string };
  readonly notes: readonly string[];
}

type Sentences = Pick<Language, 't' | 'when'>;

/** Drafts by the kinds of mail. */
export type Drafts = Readonly<Record<string, (addressed: Addressed, language: Sentences) => Draft>>;

export interface Letters {
  /** Those that can be written. */
  readonly kinds: readonly string[];
  /** @param locales of the person, then of the request, the best first */
  write(addressed: Addressed, locales: readonly (string | undefined)[]): Written;
}

const directory = fileURLToPath(new URL('../../views/', import.meta.url));

/** @param more letters of ways to sign in */
export function createLetters(languages: Languages, more: Drafts = {}): Letters {
  const eta = new Eta({ views: directory, cache: true, autoEscape: true, autoTrim: [false, 'nl'] });
  const drafts: Drafts = { ...ourDrafts, ...more };
  return {
    kinds: Object.keys(drafts),

    write(addressed, locales) {
      const tags = locales.flatMap((locale) => languages.first(locale ?? '') ?? []);
      const language = languages.of(tags[0] ?? '');
      const draft = drafts[addressed.kind]?.(addressed, language);
      if (draft === undefined) throw new Error(`There is no mail of the kind ${addressed.kind}.`);
      const html = eta.render('./mail', {
        ...draft,
        language: language.tag,
        direction: language.direction,
        tenant: addressed.tenantName,
      });
      return { subject: draft.subject, text: textOf(draft), html };
    },
  };
}

const ourDrafts = {
  invitation: (addressed, { t }) => ({
    subject: t('Your account at {tenant}', { tenant: addressed.tenantName }),
    paragraphs: [
      t('An administrator of {tenant} has made an account for you. Your user name is {username}.', {
        tenant: addressed.tenantName,
        username: addressed.username,
      }),
    ],
    action: { label: t('Choose your password'), uri: linkTo(otherPaths.passwordLink, addressed) },
    notes: [t('The link works once, within seven days.'), t("This mailbox isn't monitored.")],
  }),

  verification: (addressed, { t }) => ({
    subject: t('Your email address at {tenant}', { tenant: addressed.tenantName }),
    paragraphs: [
      t(
        'Confirm that this is the address of your account {username} at {tenant}. Open the link in a browser in which you are signed in.',
        { tenant: addressed.tenantName, username: addressed.username },
      ),
    ],
    action: { label: t('Confirm the address'), uri: linkTo(otherPaths.emailLink, addressed) },
    notes: [
      t('The link works once, within one day. If you do not know the account, ignore this mail.'),
      t("This mailbox isn't monitored."),
    ],
  }),

  registration: (addressed, { t }) => ({
    subject: t('Your registration at {tenant}', { tenant: addressed.tenantName }),
    paragraphs: [
      t('Somebody, probably you, wants to make an account at {tenant} with this address.', {
        tenant: addressed.tenantName,
      }),
    ],
    action: { label: t('Make the account'), uri: linkTo(otherPaths.passwordLink, addressed) },
    notes: [
      t('The link works once, within one day. If it was not you, ignore this mail.'),
      t("This mailbox isn't monitored."),
    ],
  }),

  'account-exists': (addressed, { t }) => ({
    subject: t('Your registration at {tenant}', { tenant: addressed.tenantName }),
    paragraphs: [
      t('Somebody, probably you, wanted to make an account with this address.'),
      t(
        'There is an account with this address at {tenant} already. Its user name is {username}. If you have forgotten the password, choose a new one.',
        { tenant: addressed.tenantName, username: addressed.username },
      ),
    ],
    action: {
      label: t('Choose a new password'),
      uri: pageOf(otherPaths.forgottenPassword, addressed),
    },
    notes: [t("If it wasn't you, ignore this email."), t("This mailbox isn't monitored.")],
  }),

  notice: (addressed, { t }) => ({
    subject: t('A change to your account at {tenant}', { tenant: addressed.tenantName }),
    paragraphs: [t(noticeOf[addressed.content.change ?? 'password'], { username: addressed.username })],
    notes: [
      t(adviceOf[addressed.content.change ?? 'password'] ?? usualAdvice),
      t("This mailbox isn't monitored."),
    ],
  }),

  'sign-in': (addressed, { t, when }) => ({
    subject: t('New sign-in to your account at {tenant}', { tenant: addressed.tenantName }),
    paragraphs: [
      t('Somebody, probably you, signed in to your account {username} with a browser that is new to us.', {
        username: addressed.username,
      }),
      browserIn(addressed.content, t),
      t('Signed in {time} from {address}.', {
        time: when(addressed.content.signedInAt ?? 0),
        address: addressed.content.ipAddress ?? '',
      }),
    ],
    action: { label: t('Where you are signed in'), uri: pageOf(otherPaths.accountDevices, addressed) },
    notes: [t(usualAdvice), t("This mailbox isn't monitored.")],
  }),

  'wrong-codes': (addressed, { t }) => ({
    subject: t('Wrong codes for your account at {tenant}', { tenant: addressed.tenantName }),
    paragraphs: [
      t(
        'Somebody began to sign in to your account {username} and then entered many wrong codes. They may know your password. Codes are refused for a while.',
        { username: addressed.username },
      ),
    ],
    action: { label: t('Choose a new password'), uri: pageOf(otherPaths.forgottenPassword, addressed) },
    notes: [t(usualAdvice), t("This mailbox isn't monitored.")],
  }),

  reset: (addressed, { t }) => ({
    subject: t('Your password at {tenant}', { tenant: addressed.tenantName }),
    paragraphs: [
      t('A new password was requested for your account {username} at {tenant}.', {
        tenant: addressed.tenantName,
        username: addressed.username,
      }),
    ],
    action: { label: t('Choose a new password'), uri: linkTo(otherPaths.passwordLink, addressed) },
    notes: [
      t(
        'The link works once, within one hour. If you did not ask for it, ignore this mail: your password stays as it is.',
      ),
      t("This mailbox isn't monitored."),
    ],
  }),
} satisfies Partial<Record<MailKind, Drafts[string]>>;

const noticeOf = {
  password: 'The password of your account {username} was changed.',
  'password-set': 'An administrator has set another password for your account {username}.',
  'recovery-codes-replaced':
    'New recovery codes were made for your account {username}. Earlier ones are no longer accepted.',
  'totp-added': 'An authenticator app was added to your account {username}.',
  'passkey-added': 'A passkey was added to your account {username}.',
  'passkey-removed': 'A passkey was removed from your account {username}.',
  'totp-removed': 'The authenticator app of your account {username} was removed.',
  'factors-removed':
    'An administrator has removed the authenticator app, recovery codes and passkeys of your account {username}.',
  'locked-down':
    'An administrator has locked your account {username} down: its password and passkeys no longer work, and you are signed out everywhere.',
  'email-changed':
    'The email address of your account {username} was changed. Mail goes to the new one from now on.',
  'provider-linked': 'You can now sign in to your account {username} with another organization.',
  'provider-unlinked':
    'You can no longer sign in to your account {username} with another organization that you had linked.',
  'account-closed':
    'Your account {username} was closed, as you asked. An administrator can restore it within 30 days.',
} as const satisfies Record<AnnouncedChange, string>;

const usualAdvice = 'If it was not you, change your password and tell your administrator.';

/** What people do who did not expect it, if that is not the usual. */
const adviceOf: Partial<Record<AnnouncedChange, string>> = {
  'password-set': 'If you did not expect this, ask your administrator.',
  'factors-removed': 'If you did not expect this, ask your administrator.',
  'locked-down': 'Ask your administrator for a link with which you choose a new password.',
  'account-closed': 'If it was not you, tell your administrator.',
};

/** As the account page names the browsers in which a person is signed in. */
function browserIn({ userAgent = '' }: MailContent, t: Sentences['t']): string {
  const { browser, system } = browserName(userAgent) ?? {};
  if (browser === undefined) return t('Unknown browser');
  return system === undefined ? browser : t('{browser} on {system}', { browser, system });
}

/** A page of ours for people of the tenant. */
function pageOf(path: string, { issuer, tenantId }: Addressed): string {
  return `${issuer}${path}?${new URLSearchParams({ tenant: tenantId }).toString()}`;
}

function linkTo(path: string, { issuer, link, content: { interactionId = '' } }: Addressed): string {
  const query = { link, ...(interactionId !== '' && { interaction: interactionId }) };
  return `${issuer}${path}?${new URLSearchParams(query).toString()}`;
}

function textOf({ paragraphs, action, notes }: Draft): string {
  const parts = [...paragraphs, ...(action ? [`${action.label}:\n${action.uri}`] : []), ...notes];
  return `${parts.join('\n\n')}\n`;
}
