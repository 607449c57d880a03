import { renderSVG } from 'uqr';
import type { StepPage } from './step-page.ts';

/** A code of the authenticator app, or a recovery code. */
export const totpPage: StepPage = {
  name: 'totp',
  fields: ['totp_code'],
  title: () => 'Enter your code',
  data: () => ({}),
  problems: {
    incomplete: { status: 400, message: 'Enter the code.' },
    wrong_code: {
      status: 401,
      message: 'Wrong code. Wait until your app shows the next one, then enter that.',
    },
  },
};

/** A recovery code in place of a lost passkey, on the page that asks for the passkey. */
export const recoveryCodePage: StepPage = {
  name: 'recovery_code',
  fields: ['recovery_code'],
  title: () => 'Enter your code',
  data: () => ({}),
  problems: {
    incomplete: { status: 400, message: 'Enter the code.' },
    wrong_code: { status: 401, message: 'Wrong code. Each recovery code works once: enter another one.' },
  },
};

/** Setting up an authenticator app. */
export const totpEnrolmentPage: StepPage = {
  name: 'totp_enrolment',
  fields: ['enrolment_code'],
  title: () => 'Set up an authenticator app',
  data({ shown }) {
    const uri = shown['uri'] ?? '';
    const secret = new URL(uri).searchParams.get('secret') ?? '';
    const isAsked = shown['totp_asked'] !== undefined;
    return { isAsked, qrCode: renderSVG(uri, { border: 4 }), secret: secret.match(/.{1,4}/g)?.join(' ') };
  },
  problems: {
    incomplete: { status: 400, message: 'Enter the code that the app shows.' },
    wrong_code: { status: 401, message: 'Wrong code. Enter the code that the app shows now.' },
  },
};

/** Recovery codes, which become valid once the person says that they are saved. */
export const recoveryCodesPage: StepPage = {
  name: 'recovery_codes',
  fields: ['recovery_codes'],
  title: () => 'Save your recovery codes',
  script: true,
  data: ({ shown }) => ({ codes: shown['codes']?.split(' ') ?? [], enrolsApp: shown['enrols'] === 'totp' }),
  problems: {
    other_app: {
      status: 400,
      message:
        'You have set up another authenticator app in the meantime. Use that app: the recovery codes that this page showed do not work.',
    },
    other_codes: {
      status: 400,
      message:
        'You have got other recovery codes in the meantime, and the codes that this page showed do not work. Save these instead.',
    },
  },
};
