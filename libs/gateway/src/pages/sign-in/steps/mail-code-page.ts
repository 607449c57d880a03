import { mailCodeAlone, mailCodeSecond } from '@tessera/oauth';
import type { StepPage } from './step-page.ts';

/** A code by mail, in place of the password or after it. */
export const mailCodePage: StepPage = {
  name: 'mail_code',
  fields: ['mail_code', 'identifier', 'mail_code_again', 'mail_code_back'],
  title: () => 'Check your email',
  button: ({ mail_code: offered }) => (offered === undefined ? undefined : 'Email me a code'),
  data: ({ shown }) => ({
    asked: shown['mail_code_for'],
    to: shown['mail_code_to'],
    isUnsent: shown['mail_code_unsent'] !== undefined,
  }),
  asksForMail: (form) => form.get('mail_code') === '' && form.get('mail_code_back') === undefined,
  inAccount({ sendsMail, email, signInMethods }) {
    if (!sendsMail || email === '') return undefined;
    if (signInMethods.includes(mailCodeAlone))
      return ['You can sign in with a code that we email to {email}.', { email }];
    return signInMethods.includes(mailCodeSecond)
      ? ['If your password is not enough, we email a code to {email}.', { email }]
      : undefined;
  },
  problems: {
    no_identifier: { status: 400, message: 'Enter your user name, email address or phone number.' },
    no_mail_code: { status: 400, message: 'This way to sign in is no longer offered. Choose another one.' },
    incomplete_mail_code: { status: 400, message: 'Enter the code from the email.' },
    // Whatever the reason, so that nobody learns which accounts exist.
    wrong_mail_code: {
      status: 401,
      message: 'Wrong code. Enter the one from the latest email within ten minutes, or send another code.',
    },
  },
};
