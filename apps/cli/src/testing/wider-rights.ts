import { rolesInExport } from './roles-in-export.ts';
import { clientsOf, flag, list, node, text, texts, type Node } from './values-in-export.ts';
import { widerApplication } from './wider-application.ts';

/** What a person has after an import. */
export interface ArrivedPerson {
  readonly username: string;
  readonly isActive: boolean;
  readonly roles: readonly string[];
  readonly hasPassword: boolean;
  readonly hasApp: boolean;
  readonly passkeys: number;
  /** `<provider> <subject>` of each link. */
  readonly links: readonly string[];
}

/** What a tenant has after an import: applications as in the declared state. */
export interface Arrived {
  readonly applications: readonly Node[];
  readonly people: readonly ArrivedPerson[];
}

/** The second factors of Keycloak, by the type of their credential. */
const factors = new Set(['hotp', 'otp', 'recovery-authn-codes', 'totp', 'webauthn']);

/**
 * A line for each thing that somebody or something may do after an import and may not do by the export. It reads the
 * export by itself, and shares nothing with the import, so that both are not wrong together.
 * @param chosen redirect URIs that were said by hand, by client
 */
export function widerRights(
  realm: Node,
  { applications, people }: Arrived,
  chosen: ReadonlyMap<string, readonly string[]> = new Map(),
): string[] {
  const roles = rolesInExport(realm);
  const clients = clientsOf(realm);
  const ofApplications = applications.flatMap((application) => {
    const clientId = text(application['clientId']);
    const client = clients.find((each) => text(each['clientId']) === clientId);
    if (client === undefined) return [`application ${clientId}: the export has none`];
    const given = chosen.get(clientId) ?? [];
    return widerApplication({ realm, client, roles, given }, application).map(
      (line) => `${clientId}: ${line}`,
    );
  });
  const users = new Map(list(realm['users']).map((user) => [nameOf(user), user]));
  const ofPeople = people.flatMap((person) => {
    const user = users.get(person.username.toLowerCase());
    if (user === undefined) return [`user ${person.username}: the export has none`];
    const held = new Set(roles.held(user));
    const more = person.roles.filter((role) => !held.has(roles.meant(role)));
    return [...more.map((role) => `has the role ${role}`), ...widerSignIn(realm, user, person)].map(
      (line) => `user ${person.username}: ${line}`,
    );
  });
  return [...ofApplications, ...ofPeople];
}

function nameOf(user: Node): string {
  return (text(user['username']) || text(user['email'])).toLowerCase();
}

/** How a person may sign in. */
function widerSignIn(realm: Node, user: Node, person: ArrivedPerson): string[] {
  const credentials = list(user['credentials']);
  const types = credentials.map(({ type }) => text(type));
  const actions = texts(user['requiredActions']);
  const email = text(user['email']);
  const mustVerify =
    actions.includes('VERIFY_EMAIL') ||
    (flag(realm['verifyEmail']) && email !== '' && !flag(user['emailVerified']));
  const passwords = credentials.filter(({ type }) => text(type) === 'password');
  const links = list(user['federatedIdentities']).map(
    ({ identityProvider, userId }) => `${text(identityProvider)} ${text(userId)}`,
  );
  const found: readonly (readonly [what: string, isWider: boolean])[] = [
    ['is active', person.isActive && !(flag(user['enabled']) && flag(realm['enabled'] ?? true))],
    ['has a password', person.hasPassword && passwords.length === 0],
    ['keeps a temporary password', person.hasPassword && passwords.some((each) => flag(each['temporary']))],
    ['keeps a password that is to be changed', person.hasPassword && actions.includes('UPDATE_PASSWORD')],
    ['has the password of a federation', person.hasPassword && text(user['federationLink']) !== ''],
    [
      'signs in without the second factor',
      person.hasPassword && !person.hasApp && types.some((type) => factors.has(type)),
    ],
    ['has an app', person.hasApp && !types.some((type) => ['otp', 'totp'].includes(type))],
    ['has more passkeys', person.passkeys > types.filter((type) => type === 'webauthn-passwordless').length],
    [
      'need not verify the address',
      mustVerify && (person.hasPassword || person.passkeys > 0 || person.links.length > 0),
    ],
    ...person.links.map((link) => [`signs in as ${link}`, !links.includes(link)] as const),
  ];
  return found.flatMap(([what, isWider]) => (isWider ? [what] : []));
}

/** The realms of a file. */
export function realmsIn(content: string): readonly Node[] {
  const value: unknown = JSON.parse(content.replace(/^\uFEFF/, ''));
  return Array.isArray(value) ? value.map(node) : [node(value)];
}
