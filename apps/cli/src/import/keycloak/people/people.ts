import type { Entry } from '../../files/imported.ts';
import { withheldPassword } from '@tessera/directory';
import { groupAttributes } from './groups.ts';
import { placeholder } from '../realm/imported-secrets.ts';
import { oneTimePasswords, totpOf } from './one-time-password.ts';
import { attributesOf } from './person-attributes.ts';
import { passkeyOf, passkeyType } from './realm-passkeys.ts';
import { passwordHashOf } from './password-hash.ts';
import type { Report } from '../realm/realm.ts';
import type { Credential, Realm, User } from '../realm/representation.ts';
import type { Choices } from '../realm/restrictions.ts';
import type { Roles } from '../realm/roles.ts';
import type { SignInFlows } from '../realm/sign-in-flows.ts';

/** Ways to sign in besides the password, by the type of their credential. */
const credentialNames: ReadonlyMap<string, string> = new Map([
  ['hotp', 'one-time password'],
  ['otp', 'one-time password'],
  ['password-history', 'password history'],
  ['recovery-authn-codes', 'recovery codes'],
  ['totp', 'one-time password'],
  ['webauthn', 'security key'],
  ['webauthn-passwordless', 'passkey'],
]);
/** The password signs in beside these, too. */
const noSecondFactors = new Set(['password', 'password-history', 'webauthn-passwordless']);

/** What their administrators ask people to do before they sign in again. */
const newPassword = 'UPDATE_PASSWORD';
const verification = 'VERIFY_EMAIL';
/** A person who knows the password can do these, so they keep nobody out. */
const openActions = new Set([
  'CONFIGURE_RECOVERY_AUTHN_CODES',
  'CONFIGURE_TOTP',
  'TERMS_AND_CONDITIONS',
  'UPDATE_EMAIL',
  'UPDATE_PROFILE',
  'VERIFY_PROFILE',
  'terms_and_conditions',
  'update_user_locale',
  'webauthn-register',
  'webauthn-register-passwordless',
]);

/** How people are read. */
interface Reading extends Choices {
  readonly roles: Roles;
  readonly flows: Pick<SignInFlows, 'takesPasskeys'>;
  /** The issuers of the identity providers whose links come, by alias. */
  readonly linkedProviders: ReadonlyMap<string, string>;
  /** Those that the import declares. */
  readonly broughtProviders: ReadonlySet<string>;
}

/** How a person is read. */
interface ReadingPerson extends Choices {
  readonly name: string;
  readonly roles: readonly string[];
  /** The attributes with the groups of a person. */
  readonly groupsOf: (user: User) => Entry;
  /** Whether the realm lets in only those who have verified their address. */
  readonly verifiesEmail: boolean;
  /** Of the realm's passkeys, empty if it is the host of the realm; undefined where nobody signs in with one alone. */
  readonly rpId: string | undefined;
  readonly linkedProviders: ReadonlyMap<string, string>;
  readonly broughtProviders: ReadonlySet<string>;
}

/**
 * How each person of a realm is read as a user of the declared state; undefined: they are none. Reports what of them is
 * left out.
 */
export function readingPeople(
  realm: Realm,
  { roles, flows, ...common }: Reading,
): (user: User, index: number, report: Report) => Entry | undefined {
  const groupsOf = groupAttributes(realm);
  const { enabled, verifyEmail: verifiesEmail, browserFlow } = realm;
  const hasPasskeys = realm.webAuthnPolicyPasswordlessPasskeysEnabled || flows.takesPasskeys(browserFlow);
  const rpId = hasPasskeys ? realm.webAuthnPolicyPasswordlessRpId : undefined;
  return (user, index, report) => {
    const { serviceAccountClientId, username, email } = user;
    const held = roles.of(user);
    if (serviceAccountClientId !== undefined) {
      // It stands for its client, which gets tokens by itself.
      if (held.length > 0)
        report(`roles ${held.join(', ')} of application ${serviceAccountClientId}: applications have none`);
      return undefined;
    }
    // Keycloak takes the address where it is the name.
    const name = username === '' ? email : username;
    if (name === '') {
      report(`user number ${index + 1}: has no user name`);
      return undefined;
    }
    const person = personOf(user, { ...common, name, roles: held, groupsOf, verifiesEmail, rpId }, report);
    return enabled ? person : { ...person, status: 'disabled' };
  };
}

function personOf(user: User, reading: ReadingPerson, report: Report): Entry {
  const { name, roles, acceptsWider, linkedProviders, broughtProviders } = reading;
  const { email, emailVerified, enabled, firstName, lastName, requiredActions } = user;
  const person = `user ${name}`;
  const identities: Entry[] = [];
  let withholdsLinks = false;
  const isUnproven = mustVerify(user, reading.verifiesEmail);
  for (const { identityProvider: provider, userId: subject } of user.federatedIdentities) {
    const issuer = linkedProviders.get(provider);
    if (issuer === undefined || subject === '') {
      withholdsLinks = true;
      report(`sign-in by ${provider} of ${person}: has no counterpart`);
    } else if (isUnproven) {
      withholdsLinks = true;
      report(`sign-in by ${provider} of ${person}: they must verify their address first`);
    } else identities.push({ provider, issuer, subject });
  }
  // Those that can be checked before the providers are there come first.
  identities.sort(
    (left, right) =>
      Number(broughtProviders.has(String(left['provider']))) -
      Number(broughtProviders.has(String(right['provider']))),
  );
  let isKeptOut = false;
  for (const action of requiredActions) {
    if (action === newPassword) continue;
    if (action === verification) report(`${action} of ${person}: their address comes as not verified`);
    else if (openActions.has(action)) report(`${action} of ${person}: has no counterpart`);
    else {
      isKeptOut ||= !acceptsWider;
      report(
        `${action} of ${person}: is not known here${acceptsWider ? '; accepted' : ', so they come disabled'}`,
      );
    }
  }
  return Object.fromEntries(
    Object.entries({
      username: name,
      userId: user.id,
      email,
      emailVerified: email === '' ? '' : emailVerified && !requiredActions.includes(verification),
      name: [firstName, lastName].filter(Boolean).join(' '),
      givenName: firstName,
      familyName: lastName,
      // Without a status, people who were disabled here stay disabled.
      status: enabled && !isKeptOut ? '' : 'disabled',
      roles,
      // An empty list takes away what an earlier import brought.
      identities: identities.length > 0 || withholdsLinks ? identities : '',
      ...passwordOf(user, person, { ...reading, hasIdentity: identities.length > 0 }, report),
      ...attributesOf(user, reading.groupsOf(user), person, report),
    }).filter(([, value]) => value !== ''),
  );
}

/**
 * The password of a person, or its hash, their authenticator app and their passkeys. The password is withheld where it
 * alone would not have let them in, and no app comes, so that they need a link to set one.
 */
function passwordOf(
  user: User,
  person: string,
  { acceptsWider, verifiesEmail, rpId, hasIdentity }: ReadingPerson & { readonly hasIdentity: boolean },
  report: Report,
): Entry {
  const { federationLink, requiredActions } = user;
  // Once, as what is read is another object each time.
  const credentials = [...user.credentials];
  let found: Entry = {};
  const passkeys: Entry[] = [];
  let withholdsPasskeys = false;
  const app = appOf(credentials);
  let isWithheld = federationLink !== '';
  if (isWithheld)
    report(`user federation of ${person}: has no counterpart; they sign in with a password of their own`);
  for (const credential of credentials) {
    const { type, temporary } = credential;
    if (type !== 'password') {
      if (credential === app.credential) continue;
      const isPasskey = type === passkeyType && rpId !== undefined;
      const passkey = isPasskey ? passkeyOf(credential, user.id, rpId) : undefined;
      if (passkey !== undefined) {
        passkeys.push(passkey);
        continue;
      }
      withholdsPasskeys ||= type === passkeyType && !isPasskey;
      // Who has an app is asked for that here, which they could take there in place of these, too.
      const isReplaced = app.totp !== undefined && credentialNames.has(type);
      const isFactor = !noSecondFactors.has(type) && !isReplaced;
      isWithheld ||= isFactor && !acceptsWider;
      const withoutReason = type === passkeyType ? 'nobody signs in with one there' : 'has no counterpart';
      const reason = isPasskey ? 'is not in the file' : (app.problems.get(credential) ?? withoutReason);
      report(
        `${credentialNames.get(type) ?? type} of ${person}: ${reason}${withoutFactor(isFactor, acceptsWider)}`,
      );
      continue;
    }
    const read = readPassword(credential);
    isWithheld ||= temporary;
    isWithheld ||= 'problem' in read;
    if ('problem' in read) report(`password of ${person}: ${read.problem}`);
    else if (temporary) report(`password of ${person}: is a temporary one; they need a link to set one`);
    else found = 'hash' in read ? { passwordHash: read.hash } : read;
  }
  const hasPassword = credentials.some(({ type }) => type === 'password');
  const isUnproven = mustVerify(user, verifiesEmail);
  const needsLink = !hasIdentity && (passkeys.length === 0 || isUnproven);
  if (!hasPassword)
    report(
      `password of ${person}: there is none in the file${needsLink ? '; they need a link to set one' : ''}`,
    );
  if (requiredActions.includes(newPassword)) {
    isWithheld = true;
    report(`password of ${person}: they have to set a new one, for which they need a link`);
  }
  if (isUnproven && passkeys.length > 0)
    report(`passkeys of ${person}: they must verify their address first`);
  if (hasPassword && isUnproven) {
    isWithheld = true;
    report(`password of ${person}: they must verify their address; they need a link, which proves it`);
  }
  // Without any, the one that an earlier import brought would stay.
  const password = isWithheld ? { passwordHash: withheldPassword } : found;
  return {
    ...password,
    ...(app.totp !== undefined && { totp: app.totp }),
    // An empty list takes away what an earlier import brought.
    ...((passkeys.length > 0 || withholdsPasskeys) && { passkeys: isUnproven ? [] : passkeys }),
  };
}

/** The authenticator app that comes, of those that a person has, and why others do not. */
function appOf(credentials: readonly Credential[]) {
  const problems = new Map<Credential, string>();
  let found: { readonly credential: Credential; readonly totp: Entry } | undefined;
  for (const credential of credentials) {
    if (!oneTimePasswords.has(credential.type)) continue;
    const read = totpOf(credential);
    if ('problem' in read) problems.set(credential, read.problem);
    else if (found === undefined) found = { credential, totp: read.totp };
    else problems.set(credential, 'is another one, and people have one here');
  }
  return { problems, credential: found?.credential, totp: found?.totp };
}

/** As Keycloak asks: whoever has no address is let in. */
function mustVerify({ email, emailVerified, requiredActions }: User, verifiesEmail: boolean): boolean {
  return requiredActions.includes(verification) || (verifiesEmail && email !== '' && !emailVerified);
}

function readPassword(credential: Credential) {
  const { value } = credential;
  if (value === '') return passwordHashOf(credential);
  return placeholder.test(value) ? { problem: 'is a placeholder' } : { password: value };
}

function withoutFactor(isFactor: boolean, acceptsWider: boolean): string {
  if (!isFactor) return '';
  return acceptsWider
    ? '; the password alone signs in'
    : ', so the password is left out too; they need a link to set one';
}
