import type { StepPage } from './step-page.ts';

/** What a page asks the browser for (WebAuthn L3 §5.1), and what its form sends back with the answer. */
export interface PasskeyAsked {
  readonly options: string;
  readonly nonce: string;
}

/** Undefined for a page that asks for no passkey. */
export function passkeyAsked(shown: Readonly<Record<string, string>>): PasskeyAsked | undefined {
  const { passkey_options: options, passkey_nonce: nonce } = shown;
  return options === undefined || nonce === undefined ? undefined : { options, nonce };
}

/** A passkey, on a page of its own or on that of the step in whose place it is used. */
export const passkeyPage: StepPage = {
  name: 'passkey',
  fields: ['passkey', 'passkey_nonce'],
  title: () => 'Use your passkey',
  data: ({ shown }) => ({ takesRecoveryCode: shown['recovery'] !== undefined }),
  problems: {
    // Whatever the reason: another one would say which passkeys are known.
    wrong_passkey: {
      status: 401,
      message: "This passkey can't be used here. Use another one, or sign in another way.",
    },
  },
};

/** A new passkey. */
export const passkeyEnrolmentPage: StepPage = {
  name: 'passkey_enrolment',
  fields: ['passkey_created', 'passkey_nonce', 'passkey_later'],
  title: ({ shown }) =>
    isRequired(shown) || shown['passkey_asked'] !== undefined
      ? 'Create a passkey'
      : 'Sign in without a password next time?',
  data: ({ shown }) => ({
    isRequired: isRequired(shown),
    isOffered: !isRequired(shown) && shown['passkey_asked'] === undefined,
  }),
  problems: {
    no_passkey: { status: 400, message: 'No passkey was created. Try again.' },
  },
};

/** Whether nobody goes on without one. */
function isRequired(shown: Readonly<Record<string, string>>): boolean {
  return shown['passkey_required'] !== undefined;
}
