import { isEntry, type Entry } from '../files/imported.ts';
import { isJsonLines, linesInJson } from '../files/json-lines.ts';
import { CommandError } from '../../terminal.ts';
import { keyOf, type Field, type Fields } from './fields.ts';
import { hashAsText, unknownHash } from './password-texts.ts';
import { flag, type FoundPassword, type Product } from './product.ts';

/** What identifiers of people begin with whom Auth0 has a password of. */
const ownProvider = 'auth0';

/** Bulk exports, in lines of JSON or CSV; the import format; the export of password hashes. */
export const auth0: Product = {
  name: 'Auth0',
  list: 'users',
  id: { keys: ['user_id'], attribute: 'auth0Id' },
  user: {
    username: ['username'],
    email: ['email'],
    emailVerified: ['email_verified'],
    name: ['name'],
    givenName: ['given_name'],
    familyName: ['family_name'],
    nickname: ['nickname'],
    picture: ['picture'],
    locale: ['locale'],
    phoneNumber: ['phone_number'],
    phoneNumberVerified: ['phone_verified'],
  },
  // People write the one themselves, so that it must not pass for the other.
  attributes: { 'user_metadata.': 'user_metadata_', 'app_metadata.': 'app_metadata_' },
  json: ['identities'],
  status: [{ keys: ['blocked'], says: flag('disabled', 'active'), otherwise: 'active', isNeeded: true }],
  secondFactors: {
    keys: ['multifactor', 'guardian_authenticators', 'guardian_enrollments', 'mfa_factors'],
    isNeeded: true,
  },
  providers: { keys: ['identities'], name: 'provider', own: [ownProvider] },
  password: { keys: ['passwordHash', 'custom_password_hash'], find: passwordOf },
  meaningless: {
    'times there': [
      'created_at',
      'updated_at',
      'last_login',
      'last_password_reset',
      'logins_count',
      'multifactor_last_modified',
      'password_set_date',
    ],
    'where they were': ['last_ip', 'blocked_for'],
    'where Auth0 keeps them': ['_id', 'alt_id', '_tmp_is_unique', 'tenant', 'connection', 'identifiers'],
  },
  unfold: withOwnKeys,
};

function passwordOf(fields: Fields): FoundPassword | undefined {
  const text = fields.text('passwordHash');
  if (text !== '') return hashAsText(text);
  const algorithm = fields.text('custom_password_hash.algorithm');
  if (algorithm === '') return undefined;
  const found = hashAsText(fields.text('custom_password_hash.hash.value'));
  return 'hash' in found && fields.all.every(isUsual) ? found : unknownHash(algorithm);
}

/** Salt or another encoding besides would make another password of it. */
function isUsual({ key, value }: Field): boolean {
  const part = /^custompasswordhash\.(.+)$/.exec(key)?.[1];
  if (part === undefined || part === 'algorithm' || part === 'hash.value') return true;
  return /^(hash|password)\.encoding$/.test(part) && value === 'utf8';
}

/** The export of password hashes has the identifier in parts, and may have the address in a list alone. */
function withOwnKeys(record: Entry): Entry {
  const id = idOf(record);
  const saysAddress = Object.keys(record).some((name) => /^email(verified)?$/.test(keyOf(name)));
  // It may be another address, of which the record says nothing.
  const address = saysAddress ? undefined : addressOf(record['identifiers']);
  return {
    ...(id !== undefined && { user_id: id }),
    ...(address !== undefined && { email: address['value'], email_verified: address['verified'] === true }),
    ...record,
  };
}

function addressOf(identifiers: unknown): Entry | undefined {
  if (!Array.isArray(identifiers)) return undefined;
  return identifiers.filter(isEntry).find(({ type }) => type === 'email');
}

function idOf({ _id: id, alt_id: alternative }: Entry): string | undefined {
  const own = isEntry(id) ? id['$oid'] : id;
  const found = typeof alternative === 'string' && alternative !== '' ? alternative : own;
  return typeof found === 'string' ? `${ownProvider}|${found}` : undefined;
}

/** The export of password hashes: them by `user_id`. Throws CommandError. */
export function hashesOfAuth0(text: string): ReadonlyMap<string, string> {
  if (!isJsonLines(text)) throw new CommandError('The file of password hashes is not JSON, a person a line.');
  const hashes = new Map<string, string>();
  for (const record of linesInJson(text)) {
    if (!isEntry(record)) continue;
    const [id, hash] = [idOf(record), record['passwordHash']];
    if (id === undefined || typeof hash !== 'string') continue;
    // Of two databases, and nobody knows whose it is.
    hashes.set(id, hashes.has(id) && hashes.get(id) !== hash ? 'of several' : hash);
  }
  return hashes;
}
