import { execFile } from 'node:child_process';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { installedDatabaseUrl } from '@tessera/test-kit';
import { bareEnvironment, eventually, freePort } from '@tessera/test-kit/provision';
import { Secret, TOTP } from 'otpauth';
import {
  authorizationQuery,
  claimsOf,
  entryOf,
  HttpClient,
  newKeys,
  newPkce,
  Person,
} from '@tessera/test-client';
import { PatientProcess } from '../../harness/patient-process.ts';

const root = fileURLToPath(new URL('../../../../../', import.meta.url));
const run = promisify(execFile);

/** What `npm run test:examples -- keycloak` had Keycloak export. */
const realm = 'examples/keycloak/realm.json';
const app = new TOTP({ secret: new Secret({ buffer: new TextEncoder().encode('JBSWY3DPEHPK3PXP').buffer }) });
const people = [
  {
    username: 'ada',
    sub: '14ae5463-f3be-4d4a-a8f4-f78342f188a1',
    password: 'ada keeps her passphrase',
    hash: /^\$pbkdf2-sha256\$/,
  },
  {
    username: 'bob',
    sub: '170b4d0b-f976-4413-b973-f8b7780e9439',
    password: 'bob keeps his passphrase',
    hash: /^\$pbkdf2-sha512\$/,
    app,
  },
  {
    username: 'carol',
    sub: '8babf7d1-1d0f-4c3e-bbc1-77974e9ed1ba',
    password: 'carol keeps her passphrase',
    hash: /^\$argon2id\$v=19\$m=7168,/,
  },
];
const current = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/;

it('people of a realm of Keycloak 26 sign in as before: the same sub, password and app, at the same paths', async () => {
  const DATABASE_URL = await installedDatabaseUrl();
  const keys = newKeys();
  const port = await freePort();
  const server = new PatientProcess('standalone', entryOf('standalone'));
  onTestFinished(async () => server.kill());
  server.start({ ...keys, DATABASE_URL, TESSERA_HTTP_PORT: String(port) });
  const metadata = `http://127.0.0.1:${port}/.well-known/openid-configuration`;
  await eventually('it serves', async () => (await fetch(metadata).catch(() => undefined))?.ok === true);
  const tessera = async (...words: string[]) =>
    run(process.execPath, ['apps/cli/src/main.ts', ...words, '--direct'], {
      cwd: root,
      env: { ...bareEnvironment(), ...keys, DATABASE_URL },
    });
  const database = new Client({ connectionString: DATABASE_URL });
  await database.connect();
  onTestFinished(async () => database.end());
  const hashOf = async (username: string) => {
    const text = 'SELECT password_hash AS hash FROM directory.user_account WHERE username = $1';
    return (await database.query<{ hash: string }>(text, [username])).rows[0]?.hash;
  };
  const base = `http://127.0.0.1:${port}`;
  const issuer = `${base}/realms/harbour`;
  const redirectUri = 'https://harbour.example/callback';
  /** The `sub` that the application gets; undefined if nobody is signed in. */
  const signIn = async (username: string, password: string, code?: string) => {
    const person = new Person(new HttpClient(() => base), { tenant: 'harbour', username, password });
    const { verifier, challenge } = newPkce();
    const query = authorizationQuery({
      client_id: 'harbour-web',
      redirect_uri: redirectUri,
      scope: 'openid orders.read',
      code_challenge: challenge,
    });
    const started = await person.get(`/realms/harbour/protocol/openid-connect/auth?${query}`);
    const page = started.header('location') ?? '';
    let answer = await person.submit(page, { identifier: username, password });
    // The page of the visit asks for what is missing.
    if (code !== undefined) answer = await person.submit(page, { totp_code: code });
    const location = answer.header('location') ?? '';
    if (!location.startsWith(redirectUri)) return undefined;
    const response = await fetch(`${issuer}/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: 'harbour-web',
        client_secret: 'secret-of-the-example-not-for-production',
        code: new URL(location).searchParams.get('code') ?? '',
        code_verifier: verifier,
        redirect_uri: redirectUri,
      }),
    });
    const { id_token: idToken } = (await response.json()) as { readonly id_token: string };
    return claimsOf(idToken)['sub'];
  };

  const words = ['import', 'keycloak', realm, '--issuer', issuer];
  const dryRun = await tessera(...words, '--dry-run');
  expect(dryRun.stdout).not.toContain('one-time password');
  const { stdout, stderr } = await tessera(...words);
  expect(stdout).not.toMatch(/one-time password|\bsub\b/);
  expect(stderr).toMatch(/^harbour: \d+ created, 0 updated, 0 deleted$/m);
  for (const { username, hash } of people) expect(await hashOf(username)).toMatch(hash);
  for (const { username, password, app, sub } of people) {
    expect(await signIn(username, 'not that passphrase')).toBeUndefined();
    const code = app?.generate();
    if (code !== undefined) {
      expect(await signIn(username, password)).toBeUndefined();
      expect(await signIn(username, password, String(Number(code) ^ 1).padStart(6, '0'))).toBeUndefined();
    }
    expect(await signIn(username, password, code)).toBe(sub);
    await eventually('the hash is ours', async () => current.test((await hashOf(username)) ?? ''));
    // The code is used up.
    const next = app?.generate({ timestamp: Date.now() + 30_000 });
    if (code !== undefined) expect(await signIn(username, password, code)).toBeUndefined();
    expect(await signIn(username, password, next)).toBe(sub);
  }
  const sample = join(await mkdtemp(join(tmpdir(), 'tessera-e2e-')), 'sample.csv');
  onTestFinished(async () => rm(dirname(sample), { recursive: true }));
  const rows = people.slice(0, 2).map(({ username, password }) => `${username},${password}`);
  await writeFile(sample, ['username,password', ...rows].join('\n'), { mode: 0o600 });
  const again = await tessera(...words, '--verify', '--sign-in', sample);
  expect(again.stdout).toContain('signed in: user ada\nasked for a second factor: user bob\n');
  expect(again.stdout).toMatch(/by application harbour-\w+: 1 signed in, 1 asked for a second factor$/m);
  await appendFile(sample, '\ncarol,not that passphrase');
  const refused = await tessera(...words, '--verify', '--sign-in', sample).catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /^refused: user carol: Wrong user name or password \(tessera why \S+\)$/m,
    ) as string,
  });
  for (const { password } of people) expect(JSON.stringify(refused)).not.toContain(password);
  expect(again.stderr).toContain('harbour: 0 created, 0 updated, 0 deleted');
  expect(again.stdout).toContain('working: application harbour-web: sign-in');
  expect(again.stdout).toMatch(/^Verified at .*, 0 not working$/m);
  for (const { username } of people) expect(await hashOf(username)).toMatch(current);
  expect(await server.stop()).toBe(0);
});
