import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import type { Language, Languages } from '@tessera/languages';
import { otherPaths } from '@tessera/oauth';
import type { MailContent, MailKind } from './outbox.ts';

/** Whom a mail is for, and what it is about. */
export interface Addressed {
  readonly kind: MailKind;
  readonly content: MailContent;
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
interface Draft {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  /** Something to do, with its address. */
  readonly action?: { readonly label: string; readonly uri: string };
  readonly notes: readonly string[];
}

type Sentences = Pick<Language, 't'>;

export interface Letters {
  /** @param locales of the person, then of the request, the best first */
  write(addressed: Addressed, locales: readonly (string | undefined)[]): Written;
}

const directory = fileURLToPath(new URL('../../views/', import.meta.url));

export function createLetters(languages: Languages): Letters {
  const eta = new Eta({ views: directory, cache: true, autoEscape: true, autoTrim: [false, 'nl'] });
  return {
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

const drafts: Partial<Record<MailKind, (addressed: Addressed, language: Sentences) => Draft>> = {
  invitation: (addressed, { t }) => ({
    subject: t('Your account at {tenant}', { tenant: addressed.tenantName }),
    paragraphs: [
      t('An administrator of {tenant} has made an account for you. Your user name is {username}.', {
        tenant: addressed.tenantName,
        username: addressed.username,
      }),
    ],
    action: { label: t('Choose your password'), uri: passwordLinkOf(addressed) },
    notes: [t('The link works once, within seven days.'), t('Nobody reads answers to this mail.')],
  }),

  reset: (addressed, { t }) => ({
    subject: t('Your password at {tenant}', { tenant: addressed.tenantName }),
    paragraphs: [
      t('A new password was requested for your account {username} at {tenant}.', {
        tenant: addressed.tenantName,
        username: addressed.username,
      }),
    ],
    action: { label: t('Choose a new password'), uri: passwordLinkOf(addressed) },
    notes: [
      t(
        'The link works once, within one hour. If you did not ask for it, ignore this mail: your password stays as it is.',
      ),
      t('Nobody reads answers to this mail.'),
    ],
  }),
};

function passwordLinkOf({ issuer, link }: Addressed): string {
  return `${issuer}${otherPaths.passwordLink}?${new URLSearchParams({ link }).toString()}`;
}

function textOf({ paragraphs, action, notes }: Draft): string {
  const parts = [...paragraphs, ...(action ? [`${action.label}:\n${action.uri}`] : []), ...notes];
  return `${parts.join('\n\n')}\n`;
}
