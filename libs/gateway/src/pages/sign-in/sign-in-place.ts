import type { Interaction, OwnPage_Name } from '@tessera/proto-gen/authorize';
import type { FormTarget } from '@tessera/pages';
import { purpose } from '../form.ts';

interface Field {
  readonly name: string;
  readonly value: string;
}

interface OwnPage {
  readonly name: OwnPage_Name;
  readonly tenantId: string;
  /** Application whose request is decided there, if its policy asks for more. */
  readonly clientId?: string;
}

/** Where a person signs in, and what for. */
export interface SignInPlace {
  /** Where the forms are sent. */
  readonly path: '/login' | '/account' | '/device' | '/approvals' | '/password';
  /** Where the forms may redirect to. */
  readonly formTarget: FormTarget;
  /** What the forms' anti-forgery field is bound to. */
  readonly purpose: string;
  /** Further hidden fields. */
  readonly fields: readonly Field[];
  /** The page of ours that the person is on the way to; undefined for an authorization request. */
  readonly page?: OwnPage;
  /** The address of that page, if its forms are sent elsewhere: a browser that has nothing left to do goes on there. */
  readonly home?: string;
  /** The purpose of the sign-in in words, and the `name` in it, for instance that of the application. */
  readonly lead: (interaction: Interaction) => readonly [string, string];
  /** The same as one sentence. */
  readonly message: (interaction: Interaction) => string;
}

/** A sign-in on the way to a page of ours. */
export interface PlaceOfPage extends SignInPlace {
  readonly page: OwnPage;
}

/**
 * The place of a sign-in on the way to a page of ours. `lead` says what it is for, with the `name` of the organization;
 * `subject` is what the anti-forgery field is bound to; `home` is the page, unless its forms are sent there, too.
 */
export function signInToPage(given: {
  readonly path: '/account' | '/device' | '/approvals' | '/password';
  readonly page: OwnPage;
  readonly home?: string;
  readonly lead: string;
  readonly subject: string;
  readonly fields: readonly Field[];
}): PlaceOfPage {
  const { path, page, home = path, lead, subject, fields } = given;
  return {
    path,
    formTarget: 'own',
    purpose: purpose.signInTo(subject),
    fields,
    page,
    home,
    lead: ({ tenantName }) => [lead, tenantName],
    message: ({ tenantName }) => `Sign in first. ${lead.replace('<b>{name}</b>', tenantName)}`,
  };
}
