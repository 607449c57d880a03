import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { newDatabaseUrl } from '@tessera/test-kit';
import { eventually, freePort } from '@tessera/test-kit/provision';
import { authorizationQuery, entryOf, HttpClient, newKeys, Person } from '@tessera/test-client';
import { PatientProcess } from '../../harness/patient-process.ts';

const root = fileURLToPath(new URL('../../../../../', import.meta.url));
const run = promisify(execFile);

/** What `npm run test:examples -- keycloak` had Keycloak export. */
const realm = 'examples/keycloak/realm.json';
const people = [
  { username: 'ada', password: 'ada keeps her passphrase', hash: /^\$pbkdf2-sha256\$/ },
  { username: 'bob', password: 'bob keeps his passphrase', hash: /^\$pbkdf2-sha512\$/ },
  { username: 'carol', password: 'carol keeps her passphrase', hash: /^\$argon2id\$v=19\$m=7168,/ },
];
const current = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/;

it('people of a realm of Keycloak 26 sign in with their old passwords, whose hashes are made anew', async () => {
  const DATABASE_URL = await newDatabaseUrl();
  const keys = newKeys();
  const port = await freePort();
  const server = new PatientProcess('standalone', entryOf('standalone'));
  onTestFinished(async () => server.kill());
  server.start({ ...keys, DATABASE_URL, TESSERA_HTTP_PORT: String(port) });
  const metadata = `http://127.0.0.1:${port}/.well-known/openid-configuration`;
  await eventually('it serves', async () => (await fetch(metadata).catch(() => undefined))?.ok === true);
  const tessera = async (...words: string[]) =>
    run(process.execPath, ['apps/cli/src/main.ts', ...words], {
      cwd: root,
      env: { PATH: process.env['PATH'] ?? '', ...keys, DATABASE_URL },
    });
  const database = new Client({ connectionString: DATABASE_URL });
  await database.connect();
  onTestFinished(async () => database.end());
  const hashOf = async (username: string) => {
    const text = 'SELECT password_hash AS hash FROM directory.user_account WHERE username = $1';
    return (await database.query<{ hash: string }>(text, [username])).rows[0]?.hash;
  };
  const signIn = async (username: string, password: string) => {
    const person = new Person(new HttpClient(() => `http://127.0.0.1:${port}`), {
      tenant: 'harbour',
      username,
      password,
    });
    const request = {
      client_id: 'harbour-web',
      redirect_uri: 'https://harbour.example/callback',
      scope: 'openid orders.read',
    };
    const answer = await person.authorize(authorizationQuery(request), { username, password });
    return answer.header('location')?.split('?')[0];
  };

  // One of them had a second factor.
  const words = ['import', 'keycloak', realm, '--accept-wider'];
  const dryRun = await tessera('import', 'keycloak', realm, '--dry-run');
  expect(dryRun.stdout).toContain(
    'one-time password of user bob: has no counterpart, so the password is left out',
  );
  const { stdout, stderr } = await tessera(...words);
  expect(stdout).toContain('one-time password of user bob: has no counterpart; the password alone signs in');
  expect(stderr).toMatch(/^harbour: \d+ created, 0 updated, 0 deleted$/m);
  for (const { username, hash } of people) expect(await hashOf(username)).toMatch(hash);
  for (const { username, password } of people) {
    expect(await signIn(username, 'not that passphrase')).not.toBe('https://harbour.example/callback');
    expect(await signIn(username, password)).toBe('https://harbour.example/callback');
    await eventually('the hash is ours', async () => current.test((await hashOf(username)) ?? ''));
    expect(await signIn(username, password)).toBe('https://harbour.example/callback');
  }
  const again = await tessera(...words, '--verify', '--issuer', `http://localhost:${port}`);
  expect(again.stderr).toContain('harbour: 0 created, 0 updated, 0 deleted');
  expect(again.stdout).toContain('working: application harbour-web: sign-in');
  expect(again.stdout).toMatch(/^Verified at .*, 0 not working$/m);
  for (const { username } of people) expect(await hashOf(username)).toMatch(current);
  expect(await server.stop()).toBe(0);
});
