import { createHash, pbkdf2Sync } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';

/** The password of everybody in a generated realm. */
export const passwordOfRealm = 'a passphrase that Keycloak has hashed';
export const redirectUriOfRealm = 'https://large.example/callback';

/** Who is the person with this number. */
export function personOf(index: number) {
  const username = `p${String(index).padStart(6, '0')}`;
  const digest = createHash('sha256').update(username).digest('hex');
  return {
    username,
    id: digest.replace(/^(.{8})(.{4})(.{3})(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5'),
    email: `${username}@large.example`,
    hasApp: index % 5 === 0,
    isManager: index % 10 === 0,
    isDisabled: index % 100 === 7,
  };
}

/** How Keycloak has hashed passwords over the years. */
const costs = [
  ['pbkdf2', 'sha1', 20_000, 64],
  ['pbkdf2-sha256', 'sha256', 27_500, 64],
  ['pbkdf2-sha512', 'sha512', 30_000, 64],
  ['pbkdf2-sha512', 'sha512', 210_000, 64],
] as const;

function passwordCredentials(): object[] {
  return costs.map(([algorithm, digest, hashIterations, length]) => {
    const salt = createHash('sha256').update(`${algorithm} ${hashIterations}`).digest().subarray(0, 16);
    const value = pbkdf2Sync(passwordOfRealm, salt, hashIterations, length, digest);
    const secretData = {
      value: value.toString('base64'),
      salt: salt.toString('base64'),
      additionalParameters: {},
    };
    return {
      id: `4e60ba4c-0000-4000-8000-${String(hashIterations).padStart(12, '0')}`,
      type: 'password',
      createdDate: 1_795_512_052_545,
      secretData: JSON.stringify(secretData),
      credentialData: JSON.stringify({ hashIterations, algorithm, additionalParameters: {} }),
    };
  });
}

function appOf(username: string): object {
  const secretData = { value: createHash('sha256').update(`app ${username}`).digest('hex').slice(0, 20) };
  return {
    id: '780d0e2e-4d91-4ee9-a5e8-178997e5d1f8',
    type: 'otp',
    createdDate: 1_795_512_052_575,
    secretData: JSON.stringify(secretData),
    credentialData: JSON.stringify({ subType: 'totp', digits: 6, period: 30, algorithm: 'HmacSHA1' }),
  };
}

/** All but the people, whose place is behind the last key. */
function realmOf(clientId: string): object {
  return {
    realm: 'large',
    displayName: 'Large',
    enabled: true,
    roles: {
      realm: [{ name: 'clerk' }, { name: 'manager', composites: { realm: ['clerk'] } }, { name: 'staff' }],
      client: { [clientId]: [{ name: 'reader' }] },
    },
    groups: [
      {
        name: 'all',
        path: '/all',
        realmRoles: ['staff'],
        subGroups: [{ name: 'north', path: '/all/north' }],
      },
    ],
    clients: [
      {
        clientId,
        enabled: true,
        publicClient: true,
        standardFlowEnabled: true,
        redirectUris: [redirectUriOfRealm],
        attributes: { 'pkce.code.challenge.method': 'S256' },
      },
    ],
  };
}

/**
 * Writes what `kc.sh export --users same_file` writes of a realm of many people, of each kind, with one client that is
 * public.
 */
export async function writeRealm(
  file: string,
  { count, clientId }: { readonly count: number; readonly clientId: string },
): Promise<void> {
  const passwords = passwordCredentials();
  const stream = createWriteStream(file);
  stream.write(`${JSON.stringify(realmOf(clientId), undefined, 2).replace(/\s*\}$/, '')},\n  "users" : [ `);
  for (let index = 0; index < count; index += 1) {
    const { username, id, email, hasApp, isManager, isDisabled } = personOf(index);
    const credentials = [passwords[index % passwords.length], ...(hasApp ? [appOf(username)] : [])];
    const user = {
      id,
      username,
      firstName: 'Somebody',
      lastName: `Number ${index}`,
      email,
      emailVerified: true,
      enabled: !isDisabled,
      createdTimestamp: 1_795_512_052_545,
      totp: hasApp,
      credentials,
      disableableCredentialTypes: [],
      requiredActions: [],
      attributes: { department: [`department ${index % 50}`] },
      realmRoles: [isManager ? 'manager' : 'clerk'],
      clientRoles: { [clientId]: ['reader'] },
      notBefore: 0,
      groups: [index % 2 === 0 ? '/all' : '/all/north'],
    };
    const text = `${index > 0 ? ', ' : ''}${JSON.stringify(user, undefined, 2)}`;
    if (!stream.write(text)) await once(stream, 'drain');
  }
  stream.end(' ]\n}\n');
  await once(stream, 'close');
}
