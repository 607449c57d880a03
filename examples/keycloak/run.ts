/**
 * Has a Keycloak make and export a realm, imports what it exported, and signs its people in with their old passwords.
 * The part of the export that an import reads stays as `realm.json` below `test-output`: a copy here is what the
 * end-to-end tests import.
 */
import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { authorizationQuery, HttpClient, Person } from '../../libs/test-client/src/index.ts';
import { expect } from '../harness/expect.ts';
import { makeHarbour, passwords, realm } from './harbour.ts';
import { exportOf } from './keycloak.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'test-output/examples/keycloak');
const callback = 'https://harbour.example/callback';

/** Without the keys of the realm and its flows, which nobody reads. */
const read = [
  'realm',
  'displayName',
  'accessTokenLifespan',
  'defaultRole',
  'roles',
  'groups',
  'users',
  'clients',
  'clientScopes',
  'identityProviders',
];

/**
 * Throws unless everybody signs in at the Tessera that has this issuer and data directory. Resolves with what happened.
 */
export async function importKeycloak(issuer: string, dataDirectory: string): Promise<string> {
  const whole = await exportOf(realm, makeHarbour);
  const file = join(folder, 'whole.json');
  writeFileSync(file, JSON.stringify(whole));
  const part = Object.fromEntries(read.map((key) => [key, whole[key]]));
  writeFileSync(join(folder, 'realm.json'), JSON.stringify(part, undefined, 2));
  const imported = () =>
    execFileSync(process.execPath, ['apps/cli/src/main.ts', 'import', 'keycloak', file, '--accept-wider'], {
      cwd: root,
      env: { PATH: process.env['PATH'], TESSERA_DATA_DIR: dataDirectory },
      encoding: 'utf8',
    });
  const lines = () =>
    imported()
      .split('\n')
      .filter((line) => line.startsWith('left out: '));
  const leftOut = lines();
  for (const { username, password, otp } of passwords) {
    const person = new Person(new HttpClient(() => issuer), { tenant: realm, username, password });
    const request = { client_id: 'harbour-web', redirect_uri: callback, scope: 'openid orders.read' };
    const page = (await person.get(`/authorize?${authorizationQuery(request)}`)).header('location') ?? '';
    let answer = await person.submit(page, { identifier: username, password });
    // The page of the visit asks for what is missing.
    if (otp !== undefined) answer = await person.submit(page, { totp_code: codeOf(otp) });
    expect(answer.header('location')?.startsWith(`${callback}?code=`) === true, `${username} signs in`);
  }
  // The first one made a secret, which stays.
  const kept = 'left out: secret of application harbour-short: ';
  const again = lines();
  expect(
    again.some((line) => line.startsWith(kept)),
    'the second import says which secret stays',
  );
  const said = again.filter((line) => !line.startsWith(kept));
  expect(said.join('\n') === leftOut.join('\n'), 'the second import says the same otherwise');
  return `${passwords.length} people signed in, ${leftOut.length} things left out`;
}

/** The code of an authenticator app now (RFC 6238 §4), whose secret is text. */
function codeOf(secret: string): string {
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const mac = createHmac('sha1', secret).update(step).digest();
  const number = mac.readUInt32BE((mac.at(-1) ?? 0) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}
