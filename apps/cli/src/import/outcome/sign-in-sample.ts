import { open } from 'node:fs/promises';
import * as openid from 'openid-client';
import { requireOwn } from '../../contexts/context-file.ts';
import { endpointsOf, requestError } from '../../oauth/oauth-client.ts';
import { Browser, type Page } from '../../operate/isolation/browser.ts';
import { CommandError, type Terminal } from '../../terminal.ts';
import { rowsInCsv } from '../files/csv.ts';
import type { Entry } from '../files/imported.ts';
import { printable } from '../files/printable.ts';
import { contentOf, textOf } from '../files/text-of-file.ts';
import { reachIssuer, triedOf, type OfTenant, type Tried } from './verify-applications.ts';

/** Somebody whose sign-in is walked. */
interface SamplePerson {
  readonly username: string;
  readonly password: string;
}

/** Reads people and their passwords from CSV that only this user can read. Throws CommandError. */
export async function readSample(
  file: string,
  terminal: Pick<Terminal, 'input'>,
): Promise<readonly SamplePerson[]> {
  const text = file === '-' ? await contentOf(file, terminal) : await textOfOwn(file);
  return rowsInCsv(text).map(({ username = '', password = '' }, index) => {
    if (username !== '' && password !== '') return { username, password };
    throw new CommandError(`Person ${index + 1} of ${file} has no username or no password.`, 2);
  });
}

/** The text of a file that is checked before it is read, and open, so that it is no other one then. */
async function textOfOwn(path: string): Promise<string> {
  const unreadable = (): never => {
    throw new CommandError(`Cannot read the file ${path}.`);
  };
  const file = await open(path).catch(unreadable);
  try {
    await requireOwn(file, path, { content: 'passwords' });
    return textOf(await file.readFile().catch(unreadable), path);
  } finally {
    await file.close();
  }
}

/** What somebody is asked for after their password, by the field of the page. */
const asked: ReadonlyMap<string, string> = new Map([
  ['totp_code', 'asked for a second factor'],
  ['recovery_code', 'asked for a second factor'],
  ['passkey', 'asked for a second factor'],
  ['mail_code', 'asked for a code by mail'],
  ['enrolment_code', 'asked to set up a second factor'],
  ['passkey_created', 'asked to set up a second factor'],
]);
const [signedIn, refused] = ['signed in', 'refused'];

/**
 * Signs people in with their passwords, as a browser does that was sent by one of the applications, and redeems the
 * code if the secret of the application is known. Prints a line for each. Resolves with whether nobody was refused.
 * Throws CommandError if no application signs people in.
 */
export async function signInSample(
  people: readonly SamplePerson[],
  applications: readonly Entry[],
  of: OfTenant,
  terminal: Terminal,
): Promise<boolean> {
  const able = applications
    .map(triedOf)
    .filter(({ grantTypes, redirectUri }) => grantTypes.includes('authorization_code') && redirectUri);
  const application = able.find(({ isPublic, secret }) => isPublic || secret !== undefined) ?? able[0];
  if (application === undefined)
    throw new CommandError('No application of the import signs people in, so nobody can be walked.');
  const reached = await reachIssuer(of, terminal);
  const counts = new Map<string, number>();
  for (const person of people) {
    const [outcome, why] = await signIn(person, application, reached);
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    terminal.out(`${printable(`${outcome}: user ${person.username}${why === '' ? '' : `: ${why}`}`)}\n`);
  }
  const all = [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', ');
  terminal.out(`Sign-ins at ${reached.issuer} by application ${application.clientId}: ${all || 'none'}\n`);
  return !counts.has(refused);
}

/** What came of it, and why if somebody was refused. */
async function signIn(
  { username, password }: SamplePerson,
  application: Tried,
  { issuer, server, patient }: Awaited<ReturnType<typeof reachIssuer>>,
): Promise<readonly [outcome: string, why: string]> {
  const { clientId, redirectUri = '', secret, isPublic } = application;
  const config = endpointsOf(server, { clientId, clientSecret: secret }, patient);
  const verifier = openid.randomPKCECodeVerifier();
  const [state, nonce] = [openid.randomState(), openid.randomNonce()];
  const { href, origin, pathname, search } = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: scopeOf(application),
    state,
    nonce,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  const browser = new Browser({ address: origin, issuer }, patient);
  const begun = await browser.open(pathname + search);
  if (!has(begun, 'identifier')) return [refused, problemOf(begun)];
  const page = await browser.submit(begun, 'identifier', { identifier: username, password });
  if (page.location === undefined) return stoppedAt(page);
  const back = page.location;
  if (!back.href.startsWith(redirectUri) || !back.searchParams.has('code'))
    return [
      refused,
      back.searchParams.get('error') ?? `sent from ${new URL(href).pathname} to another place`,
    ];
  if (!isPublic && secret === undefined) return [signedIn, ''];
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce };
  try {
    await openid.authorizationCodeGrant(config, back, checks);
    return [signedIn, ''];
  } catch (error) {
    return [refused, `no tokens for the code: ${(await requestError(error)).message.replace(/\.$/, '')}`];
  }
}

function scopeOf({ scopes }: Tried): string {
  return scopes.includes('openid') ? 'openid' : (scopes[0] ?? '');
}

function stoppedAt(page: Page): readonly [outcome: string, why: string] {
  const fields = page.forms.flatMap((form) => Object.keys(form.fields));
  // The page of the password may offer a passkey, too.
  if (fields.includes('identifier')) return [refused, problemOf(page)];
  const known = [...asked].find(([field]) => fields.includes(field));
  if (known !== undefined) return [known[1], ''];
  return page.text.includes('name="consent"') ? ['asked for consent', ''] : [refused, problemOf(page)];
}

function has({ forms }: Page, field: string): boolean {
  return forms.some(({ fields }) => field in fields);
}

/** What the page says is wrong, and how its cause is found. */
function problemOf({ status, text, reference }: Page): string {
  const said = /role="alert"[^>]*>([^<]*)</.exec(text)?.[1] ?? /<h1[^>]*>([^<]*)</.exec(text)?.[1] ?? '';
  const problem = said.trim() === '' ? `status ${status}` : said.trim().replace(/\.$/, '');
  return reference === '' ? problem : `${problem} (tessera why ${reference})`;
}
