import type { Entry } from '../files/imported.ts';
import { passwordHashOf } from './password-hash.ts';
import type { Realm, Report, User } from './realm.ts';
import type { Roles } from './roles.ts';

/** The attribute with the identifier that clients know from Keycloak as `sub`. */
export const idAttribute = 'keycloakId';

/** Attributes that Keycloak's own client scopes map to standard claims. */
const standardAttributes: Readonly<Record<string, string>> = {
  birthdate: 'birthdate',
  gender: 'gender',
  locale: 'locale',
  middleName: 'middleName',
  nickname: 'nickname',
  phoneNumber: 'phoneNumber',
  picture: 'picture',
  profile: 'profile',
  website: 'website',
  zoneinfo: 'zoneinfo',
};
const addressAttributes: Readonly<Record<string, string>> = {
  formatted: 'formatted',
  street: 'streetAddress',
  locality: 'locality',
  region: 'region',
  postal_code: 'postalCode',
  country: 'country',
};

const credentialNames: Readonly<Record<string, string>> = {
  otp: 'one-time password',
  webauthn: 'security key',
  'webauthn-passwordless': 'passkey',
  'recovery-authn-codes': 'recovery codes',
  'password-history': 'password history',
};

/** The people of a realm as users of the declared state. Reports what of them is left out. */
export function peopleOf({ users }: Realm, roles: Roles, report: Report): Entry[] {
  return users.flatMap((user) => {
    const held = roles.of(user);
    if (user.serviceAccountClientId === undefined) return [personOf(user, held, report)];
    // It stands for its client, which gets tokens by itself.
    if (held.length > 0)
      report(
        `roles ${held.join(', ')} of application ${user.serviceAccountClientId}: applications have none`,
      );
    return [];
  });
}

function personOf(user: User, roles: readonly string[], report: Report): Entry {
  const { username, email, firstName, lastName } = user;
  const person = `user ${username}`;
  for (const { identityProvider } of user.federatedIdentities)
    report(`sign-in by ${identityProvider} of ${person}: has no counterpart`);
  if (user.federationLink !== '')
    report(`user federation of ${person}: has no counterpart; they sign in with a password of their own`);
  for (const action of user.requiredActions) report(`${action} of ${person}: has no counterpart`);
  return Object.fromEntries(
    Object.entries({
      username,
      email,
      emailVerified: email === '' ? '' : user.emailVerified,
      name: [firstName, lastName].filter(Boolean).join(' '),
      givenName: firstName,
      familyName: lastName,
      // Without a status, whoever was disabled here since stays so.
      status: user.enabled ? '' : 'disabled',
      roles,
      passwordHash: passwordOf(user, person, report),
      ...attributesOf(user),
    }).filter(([, value]) => value !== ''),
  );
}

function passwordOf({ credentials }: User, person: string, report: Report): string {
  let hash = '';
  for (const credential of credentials) {
    if (credential.type !== 'password') {
      const name = credentialNames[credential.type] ?? credential.type;
      report(`${name} of ${person}: has no counterpart; the password alone signs in`);
      continue;
    }
    const found = passwordHashOf(credential);
    if ('hash' in found) ({ hash } = found);
    else report(`password of ${person}: ${found.problem}`);
  }
  if (!credentials.some(({ type }) => type === 'password'))
    report(`password of ${person}: there is none in the file; they need a link to set one`);
  return hash;
}

function attributesOf({ id, attributes: given }: User): Entry {
  const standard: Entry = {};
  const address: Entry = {};
  const attributes: Entry = {};
  for (const [name, values] of Object.entries(given)) {
    const [first = '', ...more] = values.filter((value) => value !== '');
    if (first === '') continue;
    if (standardAttributes[name] !== undefined) standard[standardAttributes[name]] = first;
    else if (addressAttributes[name] !== undefined) address[addressAttributes[name]] = first;
    else attributes[name] = more.length === 0 ? first : [first, ...more];
  }
  if (id !== '') attributes[idAttribute] = id;
  return { ...standard, ...(Object.keys(address).length > 0 && { address }), attributes };
}
