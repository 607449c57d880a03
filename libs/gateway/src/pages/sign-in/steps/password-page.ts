import { longestShown } from '@tessera/pages';
import type { StepPage } from './step-page.ts';

/** User name, e-mail address or phone number, and password. */
export const passwordPage: StepPage = {
  name: 'password',
  fields: ['password', 'identifier', 'passkeys'],
  title: ({ person }) => (person === undefined ? 'Sign in' : 'Confirm that it is you'),
  data({ shown, form, person }) {
    const identifier = form?.get('identifier') ?? person?.session.username ?? shown['identifier'] ?? '';
    return {
      identifier: identifier.slice(0, longestShown),
      recovers: shown['recovers'] === 'yes',
      registers: shown['registers'] === 'yes',
    };
  },
  problems: {
    incomplete: { status: 400, message: 'Enter both your user name and your password.' },
    // Whatever the reason. A person whose attempts are used up gets it too, also for the right password: any other
    // answer would reveal which user names and addresses belong to somebody.
    wrong_credentials: {
      status: 401,
      message:
        'The user name or the password is wrong, or there were too many attempts. If you are sure of both, try again later.',
    },
  },
};
