import type { StepPage } from './step-page.ts';

/** The providers that a page offers. */
export interface OfferedProviders {
  readonly shown: readonly { readonly name: string; readonly displayName: string }[];
  /** Whether an email address can lead to one. */
  readonly hasDomains: boolean;
}

/** Undefined for a page that offers none. */
export function offeredProviders(shown: Readonly<Record<string, string>>): OfferedProviders | undefined {
  const { providers } = shown;
  return providers === undefined ? undefined : (JSON.parse(providers) as OfferedProviders);
}

/** The problem of an identifier whose domain leads to no provider: no mistake, as the password is asked for then. */
export const unknownDomain = 'unknown_domain';

/** A company's own provider. It has no page of its own: the first page has its buttons. */
export const providerPage: StepPage = {
  name: 'provider',
  fields: ['provider', 'identifier', 'resume'],
  title: () => 'Sign in',
  data: () => ({}),
  problems: {
    unknown_provider: {
      status: 400,
      message: 'This way to sign in is no longer offered. Choose another one.',
    },
    unreachable: {
      status: 400,
      message:
        'The sign-in of your organization cannot be reached now. Try again later, or sign in another way.',
    },
    denied_answer: {
      status: 401,
      message: 'You were not signed in there. Try again, or sign in another way.',
    },
    invalid_answer: {
      status: 401,
      message: 'The answer of your organization could not be used. Try again, or sign in another way.',
    },
    not_recent: {
      status: 401,
      message:
        "Your organization didn't ask you to sign in again, so we can't use its answer. Sign in another way.",
    },
    // Whatever the reason, so that nobody learns which accounts exist.
    no_account: {
      status: 401,
      message:
        'You have no account here that belongs to the one you used. Ask your administrator, or sign in another way.',
    },
  },
};
