import { isEntry, type Entry } from '../files/imported.ts';
import { flag, ifSet, type Product } from './product.ts';

/** Those of whom CSV has four columns each. */
const providers = ['google.com', 'facebook.com', 'twitter.com', 'github.com'];
const columnsOf = (provider: string) =>
  ['rawId', 'email', 'displayName', 'photoUrl'].map((key) => `${provider} ${key}`);

/** What `firebase auth:export` writes. */
export const firebase: Product = {
  name: 'Firebase',
  list: 'users',
  columns: [
    'localId',
    'email',
    'emailVerified',
    'passwordHash',
    'salt',
    'displayName',
    'photoUrl',
    ...providers.flatMap(columnsOf),
    'createdAt',
    'lastSignedInAt',
    'phoneNumber',
    'disabled',
    'customAttributes',
  ],
  id: { keys: ['localId'], attribute: 'firebaseId' },
  user: {
    email: ['email'],
    emailVerified: ['emailVerified'],
    name: ['displayName'],
    picture: ['photoUrl'],
    phoneNumber: ['phoneNumber'],
  },
  attributes: { 'customAttributes.': '' },
  json: ['customAttributes', 'providerUserInfo', 'mfaInfo'],
  status: [
    { keys: ['disabled'], says: flag('disabled', 'active'), otherwise: 'active', isNeeded: false },
    { keys: ['isAnonymous'], says: ifSet('gone'), otherwise: 'active', isNeeded: false },
  ],
  // The file never has hashes that are known here, so it need not say who has a second factor.
  secondFactors: { keys: ['mfaInfo'], isNeeded: false },
  providers: { keys: ['providerUserInfo'], name: 'providerId', own: ['password', 'phone'] },
  password: {
    keys: ['passwordHash', 'salt'],
    find: (fields) =>
      fields.text('passwordHash') === ''
        ? undefined
        : { problem: 'it has a hash by the scrypt of Firebase, which is unknown here' },
  },
  meaningless: {
    'times there': [
      'createdAt',
      'lastSignedInAt',
      'lastLoginAt',
      'lastRefreshAt',
      'passwordUpdatedAt',
      'validSince',
    ],
    'only for the hash': ['version'],
    'the profile at a provider': providers.flatMap(columnsOf),
  },
  unfold(record) {
    const own = providers.filter((provider) => textAt(record, `${provider} rawId`) !== '');
    const ofCsv = own.length === 0 ? record : { ...record, providerUserInfo: own };
    return isAnonymous(ofCsv) ? { ...ofCsv, isAnonymous: true } : ofCsv;
  },
};

/** Nobody can sign in to an account that has nothing to recognise a person by. */
function isAnonymous(record: Entry): boolean {
  const { providerUserInfo: info } = record;
  const hasProvider = Array.isArray(info) ? info.length > 0 : isEntry(info);
  return !hasProvider && textAt(record, 'email') === '' && textAt(record, 'phoneNumber') === '';
}

function textAt(record: Entry, key: string): string {
  const value = record[key];
  return typeof value === 'string' ? value.trim() : '';
}
