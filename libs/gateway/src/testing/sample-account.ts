/** A page as a person sees it: as long as its texts get, with a problem where it can have one. */
export interface Sample {
  readonly title: string;
  readonly message?: string;
  readonly data?: object;
}

const time = 1_780_000_000_000;
const session = {
  browser: 'Firefox',
  system: 'Linux',
  ipAddress: '203.0.113.7',
  began: time,
  used: time,
  isThis: false,
  end: [],
};
const email = 'ada.lovelace@a-long-domain.acme.example';

const labels = ['Overview', 'Sign-in methods', 'Devices', 'Applications', 'Activity', 'Profile'];

/** A page of the account, with the navigation. */
function ofAccount(label: string, data: object, title = label): Sample {
  const navigation = labels.map((other) => ({ path: `/${other}`, label: other, isHere: other === label }));
  return { title, data: { navigation, path: '/account', ...data } };
}

/** The pages of the account. */
export const accountSamples: Readonly<Record<string, Sample>> = {
  account: ofAccount(
    'Overview',
    {
      overview: {
        isWell: false,
        advice: [
          {
            sentence:
              '{count, plural, =0 {Nothing is waiting for you.} one {One request is waiting for you.} other {# requests are waiting for you.}}',
            values: { count: 2 },
            href: '/approvals',
            label: 'Approvals',
          },
          {
            sentence: 'Since your last sign-in, somebody has entered a wrong password or code several times.',
            href: '/activity',
            label: 'Activity',
          },
          {
            sentence: 'You have no second way to sign in. Add a passkey or an authenticator app.',
            href: '/sign-in',
            label: 'Sign-in methods',
          },
        ],
        last: {
          time,
          ipAddress: '2001:db8:1234:5678:9abc:def0:1234:5678',
          browser: 'Firefox',
          system: 'Linux',
        },
        passkeys: 2,
        hasTotp: false,
        devices: 3,
        paths: { signIn: '/sign-in', devices: '/devices' },
      },
    },
    'Your account',
  ),
  'account-sign-in': ofAccount('Sign-in methods', {
    notice: 'The passkey is removed. You are signed out everywhere else.',
    password: { path: '/password' },
    passkeys: {
      passkeys: [{ number: 1, name: 'Phone', created: time, used: time, rename: [], remove: [] }],
      add: [],
    },
    factors: {
      removeTotp: [],
      recoveryCodes: 3,
      newCodes: [],
      others: [['You can sign in with a code that we email to {email}.', { email }]],
    },
    linkedProviders: {
      linked: [{ name: 'Microsoft', since: time, unlink: [] }],
      others: [{ name: 'Acme Warehouses of the North', link: [] }],
    },
  }),
  'account-devices': ofAccount('Devices', {
    notice: 'That browser is signed out.',
    sessions: { sessions: [{ ...session, isThis: true }, session], endOthers: [] },
  }),
  'account-applications': ofAccount('Applications', {
    applications: {
      applications: [
        {
          name: 'Acme Orders',
          words: { description: 'Shows your orders, and changes them.' },
          apis: [],
          since: time,
          used: time,
          scopes: [
            { name: 'openid', description: 'know who you are' },
            { name: 'urn:acme.example:warehouse:orders.read-and-write', description: '' },
          ],
          revoke: [],
        },
      ],
    },
  }),
  'account-activity': ofAccount('Activity', {
    activity: {
      events: [
        { sentence: 'You signed in.', time, ipAddress: '203.0.113.7', browser: 'Firefox', system: 'Linux' },
        {
          sentence: 'You allowed access to {application}.',
          application: 'Acme Orders',
          time,
          ipAddress: '2001:db8:1234:5678:9abc:def0:1234:5678',
        },
      ],
    },
  }),
  'account-profile': ofAccount('Profile', {
    profile: {
      name: 'Ada Lovelace',
      username: 'ada',
      email,
      phoneNumber: '+46701234567',
      changeName: [],
      changeEmail: [],
      verifyEmail: [],
    },
    closing: { close: [] },
  }),
};
