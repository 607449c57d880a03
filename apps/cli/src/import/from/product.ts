import type { Entry } from '../files/imported.ts';
import type { Fields } from './fields.ts';

/** What a product lets a person do, from all to nothing. */
const outcomes = ['active', 'newPassword', 'disabled', 'gone'] as const;
export type Outcome = (typeof outcomes)[number];

/** Of two, what lets a person do less. */
export function stricter(left: Outcome, right: Outcome): Outcome {
  return outcomes.indexOf(left) > outcomes.indexOf(right) ? left : right;
}

/** A key that says who may sign in. */
export interface StatusRule {
  /** Every value counts. */
  readonly keys: readonly string[];
  /** What a value means; undefined: nobody knows. `now` in milliseconds since the Unix epoch. */
  says(text: string, now: number): Outcome | undefined;
  /** What it means to have no value; without it nobody knows. */
  readonly otherwise?: Outcome;
  /** Whether a file in which nobody has it does not say who may sign in. */
  readonly isNeeded: boolean;
}

/** Whose sign-ins need more than a password. */
interface SecondFactors {
  readonly keys: readonly string[];
  /** Whether a file in which nobody has it does not say whose they are. */
  readonly isNeeded: boolean;
}

/** Where a product has the names of the providers by which a person signs in. */
interface Providers {
  readonly keys: readonly string[];
  /** Of an entry, if they are entries. */
  readonly name: string;
  /** Names that stand for the product itself. */
  readonly own: readonly string[];
}

export type FoundPassword = { readonly hash: string } | { readonly problem: string };

/** What a product calls the things that a person has. Keys are compared without their case, spaces, `-` and `_`. */
export interface Product {
  readonly name: string;
  /** The key under which JSON has its list of people, unless it is the list itself. */
  readonly list: string;
  /** The columns of CSV whose first line does not name them. */
  readonly columns?: readonly string[];
  /** Where the former identifier is, and the attribute that it becomes. */
  readonly id: { readonly keys: readonly string[]; readonly attribute: string };
  /** The keys of the declared state, `address.<part>` among them, each with those that it may come from. */
  readonly user: Readonly<Record<string, readonly string[]>>;
  /** Keys that become attributes, with the names of those; one that ends with `.` or `:` is what several begin with. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Keys whose text is JSON. */
  readonly json?: readonly string[];
  readonly status: readonly StatusRule[];
  readonly secondFactors: SecondFactors;
  readonly providers?: Providers;
  /** The keys of a password, and how it is read; without `find` the product gives none away. */
  readonly password: {
    readonly keys: readonly string[];
    find?(fields: Fields): FoundPassword | undefined;
  };
  /** Keys that mean nothing here, by the reason. */
  readonly meaningless: Readonly<Record<string, readonly string[]>>;
  /** Whether phone numbers have no `+`. */
  readonly hasBarePhoneNumbers?: boolean;
  /** The record with keys that this table has, where a product writes others. */
  unfold?(record: Entry): Entry;
}

const isTrue = /^(true|t|yes|1)$/i;
const isFalse = /^(false|f|no|0)$/i;

/** A value that is true or false. */
export function flag(ifTrue: Outcome, ifFalse: Outcome) {
  return (text: string): Outcome | undefined => {
    if (isTrue.test(text)) return ifTrue;
    return isFalse.test(text) ? ifFalse : undefined;
  };
}

/** A value of a list, in any case. */
export function oneOf(values: Readonly<Record<string, Outcome>>) {
  const known = new Map(Object.entries(values));
  return (text: string): Outcome | undefined => known.get(text.toUpperCase());
}

/** A value that means something by being there. */
export function ifSet(outcome: Outcome) {
  return (): Outcome => outcome;
}

/** A time until which a person is disabled, as ISO 8601 or Postgres writes it; what is no time is for ever. */
export function disabledUntil(text: string, now: number): Outcome {
  const time = Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'));
  return time <= now ? 'active' : 'disabled';
}

/** Whether a text says that something was verified: by `true`, or by when. */
export function saysYes(text: string): boolean {
  return isTrue.test(text) || /^\d{4}-\d{2}-\d{2}/.test(text);
}

/** Whether a text says no. */
export function saysNo(text: string): boolean {
  return isFalse.test(text);
}
