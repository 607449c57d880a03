import { AccountProblem, type Account } from '@tessera/proto-gen/account';
import type { Session } from '@tessera/proto-gen/authorize';
import type { PageContext } from '../../page-context.ts';
import type { AccountPageName } from '../../paths.ts';
import type { AccountResult } from './account-results.ts';

interface Field {
  readonly name: string;
  readonly value: string;
}

/** What a section shows is made from. */
export interface AccountView {
  readonly context: PageContext;
  readonly account: Account;
  readonly session: Session;
  /** The hidden fields of the form of a change, and of what it acts on. */
  fieldsOf(change: string, target?: string): Field[];
}

/** A form of a section. */
export interface SentChange {
  readonly session: Session;
  /** What it acts on. */
  readonly target: string;
  readonly form: ReadonlyMap<string, string>;
}

/**
 * Makes a change; answers with its result, with what the person does first, with where the browser goes, or `closed` if
 * there is no account any more.
 */
export type Change = (
  context: PageContext,
  sent: SentChange,
) => Promise<AccountResult | 'closed' | { readonly visit: AccountVisit } | { readonly location: string }>;

/** A page that says what ends, with a button that is called after it. */
export interface Confirmation {
  readonly title: string;
  readonly message: string;
  readonly label: string;
  /** What it is about, by its name; undefined for what the account does not have. */
  readonly subject?: (
    asked: Pick<AccountView, 'context' | 'account'>,
    target: string,
  ) => string | undefined | Promise<string | undefined>;
}

/** What a page of the account consists of. */
export interface AccountContent {
  readonly name: AccountPageName;
  readonly template: string;
  readonly sections: readonly AccountSection[];
}

/** A part of a page: what its template shows, under its name, and its forms by the names of their changes. */
export interface AccountSection {
  readonly name: string;
  show(view: AccountView): object | Promise<object>;
  readonly changes: Readonly<Record<string, Change>>;
  /** Changes that take something away: what the page says that confirms them. */
  readonly confirmed?: Readonly<Record<string, Confirmation>>;
}

/** A sign-in on the way to a change that weakens how a person signs in, and visits that set something up. */
export type AccountVisit = 'change' | 'add_passkey' | 'add_totp' | 'new_recovery_codes';

/** The result of a change that may have a problem. */
export function resultOf(problem: AccountProblem, done: AccountResult): AccountResult {
  switch (problem) {
    case AccountProblem.UNSPECIFIED:
      return done;
    case AccountProblem.SIGNED_OUT:
      return 'signed_out';
    case AccountProblem.BAD_TEXT:
      return 'bad_text';
    case AccountProblem.LAST_WAY_IN:
      return 'last_way_in';
    case AccountProblem.PROVIDER_UNREACHABLE:
      return 'link_unreachable';
    case AccountProblem.READ_ONLY:
      return 'read_only';
    case AccountProblem.LAST_ADMINISTRATOR:
      return 'last_administrator';
    default:
      return 'unknown';
  }
}
