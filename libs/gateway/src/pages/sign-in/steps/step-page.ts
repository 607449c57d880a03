import type { Values } from '@tessera/languages';
import type { Account } from '@tessera/proto-gen/account';
import type { Interaction } from '@tessera/proto-gen/authorize';
import type { PageContext } from '../../page-context.ts';
import type { Person } from '../../signed-in-person.ts';

/** What the page of a step can show. */
export interface StepView {
  /** What the step says to show. */
  readonly shown: Readonly<Record<string, string>>;
  /** The form that is shown again; undefined at first. */
  readonly form?: ReadonlyMap<string, string> | undefined;
  /** Who is signed in and must sign in again; undefined at any other sign-in. */
  readonly person?: Person | undefined;
}

/** Whose step it is. */
export interface StepAsked {
  readonly interaction: Interaction;
  readonly shown: StepView['shown'];
}

/** The page of one step of a sign-in, the same wherever the person signs in. */
export interface StepPage {
  /** Name of the step at `authorize`, and of the template. */
  readonly name: string;
  /** The fields that the step judges. The first is the field that only this form has. */
  readonly fields: readonly [string, ...string[]];
  readonly title: (view: StepView) => string;
  /**
   * The label of the button that takes it in place of a password, by what the page of the password shows; undefined
   * where it is not offered.
   */
  readonly button?: (shown: StepView['shown']) => string | undefined;
  /** What the template shows in addition to title, purpose and `problem`. */
  readonly data: (view: StepView) => object;
  /** The same, of what has to be asked for. */
  readonly load?: (context: PageContext, asked: StepAsked) => Promise<object>;
  /** Whether the page offers to go on as somebody else. */
  readonly offersOthers?: true;
  /** Whether the template refers to a script. */
  readonly script?: true;
  /** Whether a form asks for mail, which is limited for an address. */
  readonly asksForMail?: (form: ReadonlyMap<string, string>) => boolean;
  /** What the account page says of it, with the values: undefined for a person who cannot take it. */
  readonly inAccount?: (account: Account) => readonly [string, Values] | undefined;
  /** What the page says of a form that was refused, by the name of the problem. */
  readonly problems: Readonly<Record<string, { readonly status: 400 | 401; readonly message: string }>>;
}
