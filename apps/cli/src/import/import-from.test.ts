import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { migrations as directoryMigrations } from '@tessera/directory';
import { newDatabaseUrl } from '@tessera/test-kit';
import { directly, file, pepper, rows, tessera } from '../testing/run-command.ts';
import { products } from './from/products.ts';

const bcrypt = '$2b$04$abcdefghijklmnopqrstuuSvWjnwRvkDqNFGPzoRTE5.e.PDtuyAi';

async function deployment() {
  const DATABASE_URL = await newDatabaseUrl(directoryMigrations);
  const environment = { DATABASE_URL, TESSERA_DIRECTORY_PEPPER: pepper };
  await directly(`apply --file ${file('tenants: [{ id: acme, name: Acme }]\n')}`, environment);
  const people =
    'SELECT username, owner, status, password_hash, attributes FROM directory.user_account ORDER BY username';
  return {
    run: (words: string, input = '') => directly(words, environment, undefined, input),
    people: async () => rows(DATABASE_URL, people),
    /** As a link that somebody has got does it. */
    setPassword: async (username: string) =>
      rows(
        DATABASE_URL,
        `UPDATE directory.user_account u SET password_hash = 'own',
                imported_hash = coalesce(u.imported_hash, sha256(convert_to(u.password_hash, 'UTF8')))
          WHERE username = '${username}'`,
      ),
  };
}

const lines = (...people: readonly object[]) => people.map((each) => JSON.stringify(each)).join('\n');
const users = lines(
  {
    user_id: 'auth0|1',
    email: 'ada@example.com',
    blocked: false,
    app_metadata: { bio: 'a\tb', plan: 'gold' },
  },
  { user_id: 'auth0|2', email: 'eve@example.com', blocked: true, multifactor: ['guardian'] },
);
const hashes = lines(...['1', '2'].map((id) => ({ _id: { $oid: id }, passwordHash: bcrypt })));

it('people of another product come with what they may do there; again, nothing changes', async () => {
  const { run, people } = await deployment();
  const given = `import people ${file(users, 'users.ndjson')} --tenant acme --from auth0`;
  const words = `${given} --hashes ${file(hashes, 'hashes.json')}`;
  const { code, said } = await run(words);
  expect([code, said.trimEnd().split('\n')]).toEqual([
    0,
    [
      'acme: 2 created, 0 updated, 0 deleted',
      'Arrived: 2 people',
      'To do by you: 0',
      'Left out: 2',
      expect.stringMatching(/^left out: multifactor of 1 people: cannot be moved, so their passwords/),
      expect.stringMatching(/^left out: attributes.app_metadata_bio of user ada@example.com: must /),
    ],
  ]);
  const owner = 'import:users.ndjson';
  const present = await people();
  expect(present).toEqual([
    {
      username: 'ada@example.com',
      owner,
      status: 'active',
      password_hash: bcrypt,
      attributes: { auth0Id: 'auth0|1', app_metadata_plan: 'gold' },
    },
    {
      username: 'eve@example.com',
      owner,
      status: 'disabled',
      password_hash: null,
      attributes: { auth0Id: 'auth0|2' },
    },
  ]);
  expect((await run(words)).said).toContain('acme: 0 created, 0 updated, 0 deleted');
  expect(await people()).toEqual(present);
});

it('a person who got a second factor after an import loses the imported password, once', async () => {
  const { run, people, setPassword } = await deployment();
  const path = file('', 'users.ndjson');
  const words = `import people ${path} --tenant acme --from auth0 --hashes ${file(hashes, 'hashes.json')}`;
  const import_ = async (multifactor: readonly string[]) => {
    const ada = { user_id: 'auth0|1', username: 'ada', blocked: false, multifactor };
    writeFileSync(path, lines(ada, { user_id: 'auth0|2', username: 'eve', blocked: false, multifactor: [] }));
    return (await run(words)).said;
  };
  expect(await import_([])).toContain('acme: 2 created');
  expect(await people()).toMatchObject([{ password_hash: bcrypt }, { password_hash: bcrypt }]);
  expect(await import_(['guardian'])).toContain('acme: 0 created, 1 updated, 0 deleted');
  expect(await people()).toMatchObject([{ password_hash: null }, { password_hash: bcrypt }]);
  expect(await import_(['guardian'])).toContain('acme: 0 created, 0 updated, 0 deleted');
  await setPassword('ada');
  expect(await import_(['guardian'])).toContain('acme: 0 created, 0 updated, 0 deleted');
  expect(await people()).toMatchObject([{ password_hash: 'own' }, { password_hash: bcrypt }]);
});

it.each([
  ['--hashes x.json', '--hashes and --nobody-has need --from.'],
  ['--nobody-has blocked', '--hashes and --nobody-has need --from.'],
  ['--from okta --hashes x.json', 'Okta has no file of password hashes: leave out --hashes.'],
  ['--from auth0 --nobody-has email', '--nobody-has takes blocked,multifactor of Auth0.'],
])('%s is refused', async (options, message) => {
  const words = `import people - --format json --tenant acme ${options}`;
  expect(await tessera(words, {}, undefined, '[]')).toEqual({ code: 2, said: `${message}\n` });
});

it('every product that is read is one that the command line takes', async () => {
  const { said } = await tessera('import people - --format json --tenant acme --from nobody', {});
  expect(said).toContain(`Allowed choices are ${Object.keys(products).join(', ')}`);
});

it('a line shows no control or format characters of the file', async () => {
  const { run } = await deployment();
  const importing = async (...usernames: readonly string[]) => {
    const users = usernames.map((username) => ({ username }));
    const words = 'import people - --format json --tenant acme --owner import:ours --allow-delete';
    return run(words, JSON.stringify(users));
  };
  const { said } = await importing('ada', 'b\u202Eob', 'c\u001B]0;x\u0007arol\nleft out: nobody');
  expect(said).toMatch(/^left out: user c\?\]0;x\?arol\?left out: nobody: username must /m);
  await importing('ada');
  expect((await importing('ada', 'b\u202Eob')).said).toContain('acme: user b?ob is a new person');
});

it('a file is read as UTF-8, or as UTF-16 if it says so, and as nothing else', async () => {
  const { run, people } = await deployment();
  const text = 'username,name\nada,Åda\n';
  const path = file(text, 'people.csv');
  const words = `import people ${path} --tenant acme`;
  writeFileSync(path, Buffer.from(text, 'latin1'));
  expect(await run(words)).toEqual({
    code: 1,
    said: `The file ${path} is not UTF-8. Save it as UTF-8 and try again.\n`,
  });
  writeFileSync(path, Buffer.from(`\uFEFF${text}`, 'utf16le'));
  expect((await run(words)).code).toBe(0);
  expect(await people()).toMatchObject([{ username: 'ada' }]);
  writeFileSync(path, `\uFEFF${text}`);
  expect((await run(words)).said).toContain('0 created, 0 updated, 0 deleted');
  expect(await run('import people - --format csv --tenant acme', 'username\nad\uFFFD\n')).toEqual({
    code: 1,
    said: 'Standard input is not UTF-8.\n',
  });
});
