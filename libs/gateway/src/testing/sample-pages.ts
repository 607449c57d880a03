import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { renderSVG } from 'uqr';
import { loadTemplates } from '@tessera/pages';
import { developerHint, refusedForPeople } from '../pages/developer-hint.ts';
import { accountSamples, type Sample } from './sample-account.ts';

const views = fileURLToPath(new URL('../../views/', import.meta.url));

/** The templates of the pages. */
export const templates = loadTemplates(views);

/** Those that are pages. */
export const pageTemplates: readonly string[] = [...ownPages(), 'kit/confirm'];

function ownPages(): string[] {
  return readdirSync(views)
    .filter(
      (file) =>
        file.endsWith('.eta') &&
        readFileSync(join(views, file), 'utf8').startsWith("<% layout('kit/layout')"),
    )
    .map((file) => file.slice(0, -'.eta'.length))
    .toSorted();
}

const toContinue = { lead: "You're signing in to <b>{name}</b>.", leadName: 'Acme Orders' };
const toDecide = {
  lead: 'Review requests to your account at <b>{name}</b>.',
  leadName: 'Acme Warehouses of the North',
};
const passkey = { options: '{"challenge":"AAAA","rpId":"pages.example","allowCredentials":[]}', nonce: 'n' };
const scopes = [
  { name: 'openid', description: 'know who you are' },
  { name: 'email', description: 'see your email address' },
  { name: 'orders.read', description: 'see orders', descriptions: { de: 'Bestellungen sehen' } },
  { name: 'urn:acme.example:warehouse:orders.read-and-write', description: '' },
];
const request = {
  requestId: 'r1',
  application: 'Acme Television with a rather long name',
  bindingMessage: 'Order 4711, over 1,234.56 €',
  scopes,
  apis: [
    {
      name: 'Warehouse and orders of Acme',
      scopes: Array.from({ length: 6 }, (_, at) => ({
        name: `warehouse.${at}`,
        description: 'see the stock',
      })),
    },
  ],
  keepsAccess: true,
  ipAddress: '2001:db8:1234:5678:9abc:def0:1234:5678',
  sameAddress: false,
  fields: [],
};
/** What every page has unless its sample says otherwise. */
const common = {
  base: '',
  path: '/login',
  uri: 'https://client.example/callback',
  fields: [{ name: 'csrf', value: 'x' }],
  signOut: [{ name: 'csrf', value: 'x' }],
  requestId: '01JZZZZZZZZZZZZZZZZZZZZZZZ',
  application: 'Acme Orders',
  person: { name: 'Ada Lovelace', organization: 'Acme Warehouses of the North' },
};

const samples: Readonly<Record<string, Sample>> = {
  ...accountSamples,
  approvals: {
    title: 'Approvals',
    data: {
      summary:
        '{count, plural, =0 {Nothing is waiting for you.} one {One request is waiting for you.} other {# requests are waiting for you.}}',
      notice: 'You approved the request.',
      requests: [
        request,
        { ...request, requestId: 'r2', application: 'Acme Till', keepsAccess: false, asksAgain: true },
      ],
    },
  },
  consent: {
    title: 'Allow access?',
    data: {
      account: 'ada',
      scopes,
      apis: request.apis,
      problem: 'Allow or deny the request.',
      others: [],
      keepsAccess: true,
      about: {
        publisher: 'Acme Software and Services of the North',
        homepage: { uri: 'https://orders.acme.example/about', host: 'orders.acme.example' },
        words: {
          description: 'Shows your orders, and changes them.',
          descriptions: { de: 'Zeigt Ihre Bestellungen und ändert sie.', ar: 'يعرض طلباتك ويغيّرها.' },
        },
      },
    },
  },
  device: {
    title: 'Connect a device',
    data: { userCode: 'WDJB-MJHT', problem: 'The code is not valid or has expired.' },
  },
  'device-confirm': { title: 'Connect this device?', data: { request, userCode: 'WDJB-MJHT' } },
  'device-decided': {
    title: 'Device connected',
    message: 'You approved access. Your device will continue automatically.',
  },
  error: {
    title: 'This request cannot be completed',
    message: refusedForPeople,
    data: {
      refusal: 'The redirect_uri is not registered for this client.',
      hint: developerHint('The redirect_uri is not registered for this client.'),
    },
  },
  'email-link': {
    title: 'Is this your email address?',
    data: { path: '/email/link', username: 'ada', email: 'ada.lovelace@a-long-domain.acme.example' },
  },
  register: {
    title: 'Create an account',
    data: { path: '/register', problem: 'Your organization takes no registration with this address.' },
  },
  'forgotten-password': {
    title: 'Choose a new password',
    data: { path: '/password/forgot', problem: 'Enter your user name, email address or phone number.' },
  },
  'form-post': {
    title: 'Back to the application',
    message: 'You will be sent back to the application.',
    // It stays, so that it can be looked at.
    data: { asset: (file: string) => (file === 'form-post.js' ? '/assets/none.js' : `/assets/${file}`) },
  },
  'kit/confirm': {
    title: 'Remove this passkey?',
    message:
      'You can no longer sign in with it, and you are signed out in all other browsers and applications.',
    data: { label: 'Remove passkey', subject: 'Phone of Ada', back: '/account', path: '/account' },
  },
  mail_code: {
    title: 'Check your email',
    data: {
      ...toContinue,
      asked: 'ada.lovelace@a-long-domain.acme.example',
      problem: 'Wrong code. Enter the one from the latest email within ten minutes, or send another code.',
    },
  },
  mismatch: {
    title: 'You are signed in to another organization',
    message: 'The session in this browser belongs to another tenant.',
  },
  'new-password': {
    title: 'Change your password',
    data: {
      lead: 'For your account at <b>{name}</b>',
      leadName: 'Acme Warehouses of the North',
      username: 'ada',
      asksForPresent: true,
      passwordMinLength: 12,
      problem: 'The two passwords differ.',
      passkey,
    },
  },
  'no-sign-in': {
    title: 'This sign-in has expired',
    message: 'It was completed already, or has waited too long.',
    data: { again: '/authorize?client_id=web', application: 'Acme Television with a rather long name' },
  },
  notice: {
    title: 'Your password is set',
    message: 'Sign in with it from now on.',
    data: { advice: 'You can close this page.' },
  },
  passkey: { title: 'Use your passkey', data: { ...toDecide, passkey, takesRecoveryCode: true } },
  passkey_enrolment: { title: 'Create a passkey', data: { ...toContinue, passkey, isRequired: true } },
  password: {
    title: 'Sign in',
    data: {
      ...toContinue,
      passkey,
      identifier: 'ada',
      buttons: [{ name: 'mail_code', label: 'Email me a code' }],
      providers: { shown: [{ name: 'corp', displayName: 'Acme Warehouses of the North' }] },
      recovers: true,
      registers: true,
      problem: 'Wrong user name or password.',
    },
  },
  recovery_codes: {
    title: 'Save your recovery codes',
    data: {
      ...toContinue,
      enrolsApp: true,
      codes: Array.from({ length: 10 }, (_, index) => `abcd-efgh-ijk${index}`),
    },
  },
  'sign-out': {
    title: 'Sign out?',
    message: 'Another site asked to end your session. Confirm that you want to sign out.',
  },
  'signed-out': { title: 'Signed out', message: 'You are signed out.' },
  'tenant-form': {
    title: 'Your organization',
    data: {
      path: '/approvals',
      lead: 'You can find it in the link you received, or ask your administrator.',
      typed: 'Acme!',
      problem: 'This is not a valid organization name.',
    },
  },
  totp: {
    title: 'Enter your code',
    data: {
      ...toContinue,
      passkey,
      problem: 'Wrong code. Wait until your app shows the next one, then enter that.',
    },
  },
  totp_enrolment: {
    title: 'Set up an authenticator app',
    data: {
      ...toContinue,
      problem: 'Wrong code. Enter the code that the app shows now.',
      secret: 'JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP',
      qrCode: renderSVG('otpauth://totp/Acme:ada?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Acme', {
        border: 4,
      }),
    },
  },
};

/** What a template shows. Throws for one without a sample: add it above. */
export function samplePage(template: string): object {
  const sample = samples[template];
  if (sample === undefined) throw new Error(`The page ${template} has no sample in testing/sample-pages.ts.`);
  const { title, message = '', data } = sample;
  return { ...common, title, message, ...data };
}
