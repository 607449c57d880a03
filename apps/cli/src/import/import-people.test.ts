import { expect, it } from 'vitest';
import { migrations as directoryMigrations } from '@tessera/directory';
import { newDatabaseUrl } from '@tessera/test-kit';
import { directly, file, pepper, rows } from '../testing/run-command.ts';

const state = `tenants:
  - id: acme
    name: Acme
    roles: [clerk]
    users: [{ username: eve, email: eve@acme.example }]
`;
// Of "correct horse", by another product each.
const bcrypt = '$2b$04$abcdefghijklmnopqrstuuSvWjnwRvkDqNFGPzoRTE5.e.PDtuyAi';
const pbkdf2 = `$pbkdf2-sha256$i=1000$${'c2FsdA'.repeat(3)}$${'dGFn'.repeat(11)}`;
const csv = `username,email,roles,passwordHash,shoe size
ada,ada@acme.example,clerk;boss,${bcrypt},42
bob,eve@acme.example,boss,${pbkdf2},
carol,nowhere,,md5:secret,
ADA,,,,
`;

async function deployment() {
  const DATABASE_URL = await newDatabaseUrl(directoryMigrations);
  const environment = { DATABASE_URL, TESSERA_DIRECTORY_PEPPER: pepper };
  await directly(`apply --file ${file(state)}`, environment);
  const people = `SELECT username, owner, user_id, password_hash, status FROM directory.user_account ORDER BY username`;
  return {
    run: (words: string, input = '') => directly(words, environment, undefined, input),
    people: async () => rows(DATABASE_URL, people) as Promise<Readonly<Record<string, string | null>>[]>,
  };
}

const report = [
  'To do by you: 0',
  'Left out: 6',
  'left out: shoe size of 1 people: is not a known key',
  'left out: user ADA: the user name is taken by another person',
  'left out: role boss of 2 people: is not a role of the tenant',
  'left out: email of user carol: must be an e-mail address',
  expect.stringMatching(/^left out: passwordHash of user carol: must be a hash by argon2/),
  expect.stringMatching(/^left out: user bob: shares a user name, e-mail address or phone number/),
];

it('nobody comes with a status that is not known, and the line says what to write', async () => {
  const { run, people } = await deployment();
  const text = 'username,status\nada,Disabled\nbob,LOCKED\ncarol,ausgeschieden\ndora,Active\n';
  const { said, code } = await run('import people - --format csv --tenant acme --owner import:ours', text);
  expect([code, said.trimEnd().split('\n')]).toEqual([
    0,
    [
      'acme: 3 created, 0 updated, 0 deleted',
      'Arrived: 3 people',
      'To do by you: 0',
      'Left out: 1',
      expect.stringMatching(/^left out: user carol: status must be .*active.*disabled.*locked/),
    ],
  ]);
  expect((await people()).map(({ username, status }) => [username, status])).toEqual([
    ['ada', 'disabled'],
    ['bob', 'locked'],
    ['dora', 'active'],
    ['eve', 'active'],
  ]);
});

it('people come with their hashes; each thing left out has a line; again, nothing changes', async () => {
  const { run, people } = await deployment();
  const words = `import people - --format csv --tenant acme --owner import:ours`;
  const dryRun = await run(`${words} --dry-run`, csv);
  expect(dryRun.said.trimEnd().split('\n')).toEqual([
    'acme: user ada would be created',
    'acme: user carol would be created',
    'Would arrive: 2 people',
    ...report,
  ]);
  expect(await people()).toHaveLength(1);

  const first = await run(words, csv);
  expect([first.code, first.said.trimEnd().split('\n')]).toEqual([
    0,
    ['acme: 2 created, 0 updated, 0 deleted', 'Arrived: 2 people', ...report],
  ]);
  expect(first.said).not.toContain('secret');
  const owner = 'import:ours';
  const present = await people();
  expect(present).toMatchObject([
    { username: 'ada', owner, password_hash: bcrypt },
    { username: 'carol', owner, password_hash: null },
    { username: 'eve', owner: 'file' },
  ]);
  expect((await run(words, csv)).said).toContain('acme: 0 created, 0 updated, 0 deleted');
  expect(await people()).toEqual(present);
});

it('who is gone from the file is deleted only with --allow-delete, and people of others never', async () => {
  const { run, people } = await deployment();
  const path = file(JSON.stringify([{ username: 'ada' }, { username: 'bob' }]), 'people.json');
  await run(`import people ${path} --tenant acme`);
  file(JSON.stringify([{ username: 'bob' }]), 'people.json');
  const refused = await run(`import people ${path} --tenant acme`);
  expect(refused).toMatchObject({
    code: 3,
    said: expect.stringContaining('acme: user ada would be deleted'),
  });
  expect((await run(`import people ${path} --tenant acme --allow-delete`)).code).toBe(0);
  expect(await people()).toMatchObject([
    { username: 'bob', owner: 'import:people.json' },
    { username: 'eve', owner: 'file' },
  ]);
});

it('a person of another owner is a conflict, which names the owner, unless taken over', async () => {
  const { run, people } = await deployment();
  const eve = JSON.stringify([{ username: 'eve', name: 'Eve' }]);
  const words = 'import people - --format json --tenant acme';
  expect(await run(words, eve)).toMatchObject({
    code: 3,
    said: expect.stringContaining('user eve, of the owner "file"'),
  });
  expect((await run(`${words} --take-over`, eve)).code).toBe(0);
  expect(await people()).toMatchObject([{ username: 'eve', owner: 'import' }]);
});

it('needs a tenant that exists and a file that can be read', async () => {
  const { run } = await deployment();
  expect(await run('import people - --format json --tenant globex', '[]')).toEqual({
    code: 1,
    said: 'There is no tenant globex.\n',
  });
  expect(await run('import people /nowhere.json --tenant acme')).toEqual({
    code: 1,
    said: 'Cannot read the file /nowhere.json.\n',
  });
});

it('takes the format from the name of the file, unless it is told, and asks for it otherwise', async () => {
  const { run, people } = await deployment();
  const csv = file('username,name\ndora,Dora\n', 'people.CSV');
  expect((await run(`import people ${csv} --tenant acme`)).code).toBe(0);
  const json = file(JSON.stringify([{ username: 'finn', name: 'Finn' }]), 'people.txt');
  expect(await run(`import people ${json} --tenant acme`)).toEqual({
    code: 2,
    said: `The name ${json} does not say the format. Give --format json or csv.\n`,
  });
  expect((await run(`import people ${json} --tenant acme --format json`)).code).toBe(0);
  const names = (await people()).map(({ username }) => username);
  expect(names).toEqual(expect.arrayContaining(['dora', 'finn']));
});

const realm = JSON.stringify({
  realm: 'harbour',
  roles: {
    realm: [{ name: 'tessera.administrator' }, { name: 'boss', composites: { realm: ['tessera.auditor'] } }],
  },
  groups: [{ name: 'Chiefs', realmRoles: ['tessera.administrator'] }],
  users: [
    { username: 'ada', realmRoles: ['tessera.administrator'] },
    { username: 'bob', groups: ['/Chiefs'] },
    { username: 'eve', realmRoles: ['boss'] },
  ],
  clientScopes: ['admin.users.write', 'tokens.introspect'].map((name) => ({
    name,
    protocolMappers: [
      {
        name: 'm',
        protocolMapper: 'oidc-audience-mapper',
        config: {
          'included.custom.audience':
            name === 'admin.users.write' ? 'urn:tessera:admin' : 'https://api.example',
        },
      },
    ],
  })),
  clients: [
    {
      clientId: 'web',
      secret: 's'.repeat(32),
      redirectUris: ['https://web.example/cb'],
      defaultClientScopes: ['admin.users.write', 'tokens.introspect'],
    },
  ],
});

it('what a realm of Keycloak names like a built-in role, scope or API is left out, for members of groups too', async () => {
  const { run } = await deployment();
  const first = await run('import keycloak - --tenant harbour', realm);
  expect(first.code).toBe(0);
  expect(first.said.split('\n')).toEqual(
    expect.arrayContaining([
      'left out: role tessera.administrator: is built in; 2 people do not get it',
      'left out: resource urn:tessera:admin: is built in',
      'left out: scope tokens.introspect of resource https://api.example: is built in',
      'left out: scope admin.users.write of application web: is built in',
      'left out: scope tokens.introspect of application web: is built in',
    ]),
  );
  const { said } = await run('get --tenant harbour');
  expect(said).toContain('clientId: web');
  expect(said).toContain('- boss');
  for (const name of ['tessera.', 'admin.users', 'urn:tessera:admin', 'tokens.introspect'])
    expect(said).not.toContain(name);
});

it('what a realm of Keycloak names like a built-in role is that one with --allow-administration, and a file that is applied needs it too', async () => {
  const { run } = await deployment();
  const [allowed, state] = ['--allow-administration', 'tenants: [{ id: acme, users: [USER] }]'];
  expect((await run(`import keycloak - --tenant harbour ${allowed}`, realm)).code).toBe(0);
  const { said } = await run('get --tenant harbour');
  expect(said.match(/- tessera\.administrator/g)).toHaveLength(2);
  expect(said).toContain('admin.users.write');

  const csv = 'username,roles\nmia,tessera.helpdesk\n';
  const words = 'import people - --format csv --tenant acme';
  expect((await run(words, csv)).said).toContain(
    'role tessera.helpdesk: is built in; 1 person does not get it',
  );
  expect(await run(`${words} --dry-run`, csv)).toMatchObject({ code: 0 });
  expect(await run(`${words} ${allowed}`, csv)).toMatchObject({ code: 0 });

  const given = state.replace('USER', '{ username: zoe, roles: [tessera.auditor] }');
  const listed = expect.stringMatching(/acme: user zoe(:| would get) tessera\.auditor/) as string;
  const owner = '--owner ours --file -';
  expect(await run(`diff ${owner}`, given)).toMatchObject({ code: 3, said: listed });
  expect(await run(`diff ${allowed} ${owner}`, given)).toMatchObject({ code: 1, said: listed });
  expect(await run(`apply ${owner}`, given)).toMatchObject({ code: 3, said: listed });
  expect((await run('get --tenant acme')).said).not.toContain('zoe');
  expect(await run(`apply ${allowed} ${owner}`, given)).toMatchObject({ code: 0 });
  expect(await run(`apply ${owner}`, given)).toMatchObject({ code: 0 });
});
