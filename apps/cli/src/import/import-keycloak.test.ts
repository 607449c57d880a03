import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { migrations as directoryMigrations } from '@tessera/directory';
import { newDatabaseUrl } from '@tessera/test-kit';
import { newRealm } from '../testing/new-realm.ts';
import { file, pepper, printed, rows } from '../testing/run-command.ts';

type Entries = readonly Readonly<Record<string, unknown>>[];

async function deployment() {
  const DATABASE_URL = await newDatabaseUrl(directoryMigrations);
  const environment = { DATABASE_URL, TESSERA_DIRECTORY_PEPPER: pepper };
  const run = async (words: string, input = '') =>
    printed(`${words} --direct`, environment, undefined, input);
  const get = async () => {
    const { out } = await run('get --tenant harbour');
    const { tenants } = parse(out) as { readonly tenants: readonly Readonly<Record<string, Entries>>[] };
    return tenants[0] ?? {};
  };
  return {
    run,
    passwordHashes: async () => rows(DATABASE_URL, 'SELECT password_hash FROM directory.user_account'),
    get,
    identities: async () =>
      rows(DATABASE_URL, 'SELECT provider, issuer, subject FROM directory.provider_identity'),
    secrets: async () =>
      rows(DATABASE_URL, "SELECT digest FROM directory.application_secret WHERE client_id = 'brief'"),
    applications: async (): Promise<Entries> => (await get())['applications'] ?? [],
  };
}

const redirectUris = ['https://web.example/cb'];
const pkce = { 'pkce.code.challenge.method': 'S256' };
const realm = {
  realm: 'harbour',
  clients: [
    { clientId: 'bound', publicClient: true, redirectUris, attributes: { 'dpop.bound.access.tokens': true } },
    { clientId: 'brief', secret: 'too short', redirectUris },
    { clientId: 'narrow', publicClient: true, fullScopeAllowed: false, redirectUris, attributes: pkce },
    { clientId: 'wild', publicClient: true, redirectUris: ['*'], attributes: pkce },
  ],
  users: [
    { username: 'ada', enabled: true, credentials: [{ type: 'password', value: 'correct horse battery' }] },
    { username: 'bob', enabled: true, credentials: [{ type: 'password', value: 'pw-7' }] },
  ],
};

it('what would be wider comes disabled with a line, and a second import changes nothing', async () => {
  const { run, applications } = await deployment();
  const first = await run('import keycloak -', JSON.stringify(realm));
  expect([first.code, first.out.trimEnd().split('\n')]).toEqual([
    0,
    expect.arrayContaining([
      'Arrived: 2 applications, 1 role, 2 people',
      'arrived: application brief',
      'arrived: application narrow',
      'To do by you: 3',
      expect.stringMatching(/^to do: application bound: comes disabled: there is no counterpart/),
      'to do: application brief: has a new secret, as its own has fewer than 32 characters',
      expect.stringMatching(/^to do: application wild: comes disabled: no exact redirect URI is left/),
      expect.stringMatching(/^left out: password of user bob: /),
    ]),
  ]);
  expect(first.said).not.toMatch(/too short|pw-7|correct horse/);
  const present = await applications();
  expect(present).toMatchObject([
    { clientId: 'bound', status: 'disabled' },
    { clientId: 'brief' },
    { clientId: 'narrow', roles: ['keycloak:no-roles'] },
    { clientId: 'wild', status: 'disabled', grantTypes: ['refresh_token'] },
  ]);
  for (const of of [1, 2]) expect(present[of]).not.toHaveProperty('status');
  expect((await run('import keycloak -', JSON.stringify(realm))).said).toContain(
    'harbour: 0 created, 0 updated, 0 deleted',
  );
});

it('what would be wider comes in full if it is accepted, and the line says so', async () => {
  const { run, applications } = await deployment();
  const { code, out } = await run('import keycloak - --accept-wider', JSON.stringify(realm));
  expect(code).toBe(0);
  expect(out).toContain(
    'left out: tokens that are bound to a key (DPoP) of application bound: has no counterpart; accepted\n',
  );
  const [bound] = await applications();
  expect(bound).toMatchObject({ clientId: 'bound' });
  expect(bound).not.toHaveProperty('status');
});

it('a realm that nobody has changed comes whole, and one of several if it is named', async () => {
  const { run, applications } = await deployment();
  const realms = JSON.stringify([newRealm(), { ...newRealm(), realm: 'other' }]);
  const refused = await run('import keycloak -', realms);
  expect([refused.code, refused.said]).toEqual([
    1,
    'The files are of several realms. Choose one with --realm: harbour, other.\n',
  ]);
  const { code, out } = await run(`import keycloak - --realm harbour --issuer ${harbour}`, realms);
  expect([
    code,
    out
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('left out: group')),
  ]).toEqual([
    0,
    [
      'Arrived: 1 application, 2 roles, 1 person',
      'arrived: application web',
      'To do by you: 0',
      'Left out: 2',
    ],
  ]);
  expect(await applications()).toMatchObject([{ clientId: 'web', redirectUris }]);
});

it('a realm whose name no tenant may have needs the name of a tenant', async () => {
  const { run } = await deployment();
  const text = JSON.stringify({ ...realm, realm: '領域' });
  expect(await run('import keycloak -', text)).toMatchObject({
    code: 2,
    said: 'No tenant may have the name of the realm. Give --tenant.\n',
  });
  expect((await run('import keycloak - --tenant harbour', text)).code).toBe(0);
});

it('a password that a later file withholds is no longer the one that an earlier file brought', async () => {
  const { run, passwordHashes } = await deployment();
  const [ada] = newRealm().users;
  const password = ada?.credentials ?? [];
  const imported = async (...more: readonly object[]) => {
    const users = [{ ...ada, credentials: [...password, ...more] }];
    const { said } = await run('import keycloak -', JSON.stringify({ ...newRealm(), users }));
    return { said, hashes: await passwordHashes() };
  };
  expect((await imported()).hashes).toEqual([
    { password_hash: expect.stringMatching(/^\$pbkdf2-sha256\$i=1000\$/) as string },
  ]);
  const withheld = [{ password_hash: null }];
  expect((await imported({ type: 'totp' })).hashes).toEqual(withheld);
  const third = await imported({ type: 'totp' });
  expect(third.said).toContain('harbour: 0 created, 0 updated, 0 deleted');
  expect(third.hashes).toEqual(withheld);
});

const harbour = 'https://sso.example/realms/harbour';
const ada = { id: '0d5c-ada', username: 'ada', enabled: true };
const bob = { id: '7e11-bob', username: 'bob', enabled: true };
const ofPeople = (...users: readonly object[]) => JSON.stringify({ ...newRealm(), users });
const people = async (run: Awaited<ReturnType<typeof deployment>>['run']) => {
  const { out } = await run('user list --tenant harbour --output json');
  return (JSON.parse(out) as { username: string; userId: string }[]).map(
    ({ username, userId }) => `${username} ${userId.replace(/^usr_.*/, 'made here')}`,
  );
};

it('people keep their sub at the issuer of the realm, whatever they are called later', async () => {
  const { run } = await deployment();
  const dry = await run(`import keycloak - --issuer ${harbour} --dry-run`, ofPeople(ada, bob));
  expect(dry.out).not.toContain('sub of');
  expect(await run(`import keycloak - --issuer ${harbour}`, ofPeople(ada, bob))).toMatchObject({ code: 0 });
  expect((await run('tenant get --tenant harbour')).out).toMatch(
    /issuer: https:\S+harbour\n[^]*endpoints: keycloak/,
  );
  expect(await people(run)).toEqual(['ada 0d5c-ada', 'bob 7e11-bob']);
  const again = await run('import keycloak -', ofPeople(ada, bob));
  expect(again.said).toContain('harbour: 0 created, 0 updated, 0 deleted');
  // One is renamed, and somebody new has the former name.
  const carol = { id: '99aa-carol', username: 'ada', enabled: true };
  const moved = await run('import keycloak -', ofPeople({ ...ada, username: 'ada.l' }, bob, carol));
  expect(moved.said).toContain('harbour: 1 created, 1 updated, 0 deleted');
  expect(await people(run)).toEqual(['ada 99aa-carol', 'ada.l 0d5c-ada', 'bob 7e11-bob']);
});

it('people get a new sub at the shared issuer, with one line, and keep it at another issuer', async () => {
  const { run } = await deployment();
  const first = await run('import keycloak -', ofPeople(ada, bob));
  expect(first.out.match(/.*\bsub\b.*/g)).toEqual([
    'left out: sub of 2 people: they get a new one, as the tenant has no issuer of its own',
  ]);
  expect(await people(run)).toEqual(['ada made here', 'bob made here']);
  const own = await run(
    `import keycloak - --issuer ${harbour}`,
    ofPeople(ada, bob, { ...ada, id: 'c', username: 'carol' }),
  );
  expect(own.out.match(/.*userId.*/g)).toEqual([
    'left out: userId of user ada: is another one than the person has, who keeps it',
    'left out: userId of user bob: is another one than the person has, who keeps it',
  ]);
  expect(await people(run)).toEqual(['ada made here', 'bob made here', 'carol c']);
});

it('a tenant of another owner keeps its issuer', async () => {
  const { run } = await deployment();
  await run('tenant create --tenant harbour --name Harbour');
  expect(await run(`import keycloak - --issuer ${harbour}`, ofPeople(ada))).toMatchObject({
    code: 1,
    said: expect.stringContaining('The tenant harbour is of another owner') as string,
  });
  await run(`tenant update --tenant harbour --issuer ${harbour}`);
  expect(await run('import keycloak -', ofPeople(ada))).toMatchObject({ code: 0 });
  expect(await people(run)).toEqual(['ada 0d5c-ada']);
});

it('an app from there comes once, and a password that was withheld before comes with it', async () => {
  const { run, passwordHashes } = await deployment();
  const [person] = newRealm().users;
  const app = (digits: number) => ({
    type: 'otp',
    secretData: '{"value":"a secret of twenty b"}',
    credentialData: JSON.stringify({ subType: 'totp', digits, period: 60, algorithm: 'HmacSHA256' }),
  });
  const imported = async (digits: number) => {
    const credentials = [...(person?.credentials ?? []), app(digits)];
    return run('import keycloak -', ofPeople({ ...person, credentials }));
  };
  expect((await imported(7)).out).toContain('left out: one-time password of user ada: has codes');
  expect(await passwordHashes()).toEqual([{ password_hash: null }]);
  const { out, said } = await imported(8);
  expect(out).not.toMatch(/one-time|a secret|MEQHGZLD/);
  expect(said).toContain('harbour: 0 created, 1 updated, 0 deleted');
  expect(await passwordHashes()).toEqual([
    { password_hash: expect.stringMatching(/^\$pbkdf2-sha256\$i=1000\$/) as string },
  ]);
  expect((await imported(8)).said).toContain('harbour: 0 created, 0 updated, 0 deleted');
});

it('identity providers and the links to them come with the first import, and a second changes nothing', async () => {
  const { run, get, identities } = await deployment();
  const secret = 'what-corp-knows-harbour-by';
  const provider = (alias: string, clientSecret: string) => ({
    alias,
    providerId: 'oidc',
    config: { issuer: `https://${alias}.example`, clientId: 'harbour', clientSecret },
  });
  const federatedIdentities = ['corp', 'masked'].map((identityProvider) => ({
    identityProvider,
    userId: '7',
  }));
  const export_ = (clientSecret: string) =>
    JSON.stringify({
      ...realm,
      identityProviders: [provider('corp', clientSecret), provider('masked', '**********')],
      users: [{ username: 'eve', enabled: true, federatedIdentities }],
    });
  // A tenant that is there has none of its providers.
  await run('import keycloak -', JSON.stringify({ ...realm, users: [] }));
  const { code, said, out } = await run('import keycloak -', export_(secret));
  expect(code, said).toBe(0);
  expect(said).not.toContain(secret);
  expect(out).toContain('arrived: identity provider corp\n');
  expect(out).toContain('to do: identity provider masked: its secret is not in the file; ');
  expect(out).toMatch(/left out: identities\[\d\].* of user eve: is not a provider of the tenant\n/);
  const { providers } = await get();
  expect(providers).toMatchObject([{ name: 'corp', issuer: 'https://corp.example', createsAccounts: true }]);
  expect(await identities()).toEqual([{ provider: 'corp', issuer: 'https://corp.example', subject: '7' }]);
  expect((await run('import keycloak -', export_(secret))).said).toContain(
    'harbour: 0 created, 0 updated, 0 deleted',
  );
  // A provider of this name at another issuer is another one, whose `sub` may be anybody's.
  const declared = {
    name: 'masked',
    issuer: 'https://not-masked.example',
    clientId: 'harbour',
    clientSecret: secret,
  };
  await run(`apply -f ${file(JSON.stringify({ tenants: [{ id: 'harbour', providers: [declared] }] }))}`);
  const elsewhere = await run('import keycloak -', export_(secret));
  expect(elsewhere.out).toMatch(
    /left out: identities\[\d\].issuer of user eve: is not the issuer of the provider /,
  );
  expect(await identities()).toEqual([{ provider: 'corp', issuer: 'https://corp.example', subject: '7' }]);
  // Nobody is kept out by a file that lacks the secret alone.
  const lacking = await run('import keycloak -', export_('**********'));
  expect([lacking.code, lacking.said]).toEqual([3, expect.stringContaining('provider corp')]);
});

it('an issuer that is no URL is refused by the name of its option', async () => {
  const { run } = await deployment();
  const { code, said } = await run('import keycloak - --issuer sso.example/realms/harbour', '{}');
  expect(code).toBe(2);
  expect(said).toContain('--issuer');
  expect(said).toContain('It must be a URL that begins with https://.');
});

it('a client that gets tokens at the issuer of the realm has no line about scopes that name no audience', async () => {
  const { run } = await deployment();
  const robot = { clientId: 'robot', secret: 's'.repeat(40), serviceAccountsEnabled: true, redirectUris };
  const text = JSON.stringify({ realm: 'harbour', clients: [robot] });
  const line = 'none of its scopes names an audience';
  expect((await run('import keycloak - --dry-run', text)).out).toContain(line);
  expect((await run(`import keycloak - --issuer ${harbour} --dry-run`, text)).out).not.toContain(line);
});

it('a short secret ends none that its client has here for longer', async () => {
  const { run, secrets } = await deployment();
  const text = JSON.stringify(realm);
  await run('import keycloak -', text);
  const made = await secrets();
  expect(made).toHaveLength(1);
  const short = `import keycloak - --keep-short-secrets ${new Date(Date.now() + 86_400_000).toISOString()}`;
  expect((await run(short, text)).out).toContain(
    'left out: short secret of application brief: the secrets that it has here stay\n',
  );
  expect(await secrets()).toEqual(made);
});

it('a secret that replaces a short one outlives the next import', async () => {
  const { run, secrets } = await deployment();
  const text = JSON.stringify(realm);
  const short = `import keycloak - --keep-short-secrets ${new Date(Date.now() + 86_400_000).toISOString()}`;
  await run(short, text);
  const created = await run('secret create --tenant harbour --client-id brief --owner keycloak:harbour');
  expect(created.code).toBe(0);
  expect((await run(short, text)).said).toContain('0 created, 0 updated, 0 deleted');
  expect(await secrets()).toHaveLength(2);
});
