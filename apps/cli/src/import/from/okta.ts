import { isEntry, type Entry } from '../files/imported.ts';
import { pbkdf2Hash, type Digest } from '../files/pbkdf2-hash.ts';
import { fieldsOf, keyOf, type Fields } from './fields.ts';
import { unknownHash } from './password-texts.ts';
import { oneOf, type FoundPassword, type Product } from './product.ts';

/** What a user has besides the profile. */
const own = new Set(
  [
    'id',
    'status',
    'transitioningToStatus',
    'type',
    'realmId',
    'credentials',
    '_links',
    '_embedded',
    'created',
    'activated',
    'statusChanged',
    'lastLogin',
    'lastUpdated',
    'passwordChanged',
  ].map(keyOf),
);

/** `GET /api/v1/users`, or CSV with a column for each attribute of the profile, `id` and `status`. */
export const okta: Product = {
  name: 'Okta',
  list: 'users',
  id: { keys: ['id'], attribute: 'oktaId' },
  user: {
    username: ['profile.login'],
    email: ['profile.email'],
    emailVerified: ['isEmailVerified'],
    name: ['profile.displayName'],
    givenName: ['profile.firstName'],
    familyName: ['profile.lastName'],
    middleName: ['profile.middleName'],
    nickname: ['profile.nickName'],
    profile: ['profile.profileUrl'],
    phoneNumber: ['profile.mobilePhone'],
    locale: ['profile.locale', 'profile.preferredLanguage'],
    zoneinfo: ['profile.timezone'],
    'address.formatted': ['profile.postalAddress'],
    'address.streetAddress': ['profile.streetAddress'],
    'address.locality': ['profile.city'],
    'address.region': ['profile.state'],
    'address.postalCode': ['profile.zipCode'],
    'address.country': ['profile.countryCode'],
  },
  attributes: { 'profile.': '' },
  status: [
    {
      keys: ['status'],
      says: oneOf({
        ACTIVE: 'active',
        PASSWORD_EXPIRED: 'newPassword',
        PROVISIONED: 'newPassword',
        RECOVERY: 'newPassword',
        STAGED: 'disabled',
        LOCKED_OUT: 'disabled',
        SUSPENDED: 'disabled',
        DEPROVISIONED: 'disabled',
      }),
      isNeeded: true,
    },
    {
      keys: ['transitioningToStatus'],
      says: oneOf({ ACTIVE: 'active', PROVISIONED: 'newPassword', DEPROVISIONED: 'disabled' }),
      otherwise: 'active',
      isNeeded: false,
    },
  ],
  // Okta gives no hashes away. A file that has them was written for an import there, before anybody had a factor.
  secondFactors: { keys: ['_embedded.factors'], isNeeded: false },
  providers: { keys: ['credentials.provider.type'], name: 'type', own: ['OKTA', 'IMPORT'] },
  password: { keys: ['credentials.password'], find: passwordOf },
  meaningless: {
    'times there': ['created', 'activated', 'statusChanged', 'lastLogin', 'lastUpdated', 'passwordChanged'],
    'of the API of Okta': ['_links', 'type', 'realmId', 'credentials.provider.name'],
    'read as isEmailVerified': ['credentials.emails'],
  },
  unfold(record) {
    const withProfile = isEntry(record['profile']) ? record : withColumnsAsProfile(record);
    return hasVerifiedEmail(withProfile) ? { ...withProfile, isEmailVerified: true } : withProfile;
  },
};

/** CSV names attributes of the profile without `profile.`. */
function withColumnsAsProfile(record: Entry): Entry {
  const isOwn = (name: string): boolean => name.includes('.') || own.has(keyOf(name));
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [isOwn(name) ? name : `profile.${name}`, value]),
  );
}

/** Whether the address of the profile is verified: the primary credential may have another one. */
function hasVerifiedEmail(record: Entry): boolean {
  const { credentials } = record;
  const emails: unknown = isEntry(credentials) ? credentials['emails'] : undefined;
  if (!Array.isArray(emails)) return false;
  const verified = emails
    .filter(isEntry)
    .filter(({ type, status }) => type === 'PRIMARY' && status === 'VERIFIED')
    .map(({ value }) => value);
  return verified.length > 0 && verified.includes(fieldsOf(record, new Set()).text('profile.email'));
}

const digests: Readonly<Record<string, Digest>> = {
  SHA1_HMAC: 'sha1',
  SHA256_HMAC: 'sha256',
  SHA512_HMAC: 'sha512',
};

function passwordOf(fields: Fields): FoundPassword | undefined {
  const of = (key: string): string => fields.text(`credentials.password.hash.${key}`);
  const [algorithm, salt, value] = [of('algorithm').toUpperCase(), of('salt'), of('value')];
  if (algorithm === '') return undefined;
  const digest = digests[of('digestAlgorithm').toUpperCase()];
  if (algorithm === 'BCRYPT') return { hash: `$2b$${of('workFactor').padStart(2, '0')}$${salt}${value}` };
  return algorithm === 'PBKDF2' && digest !== undefined
    ? { hash: pbkdf2Hash(digest, Number(of('iterationCount')), { salt, value }) }
    : unknownHash(algorithm);
}
