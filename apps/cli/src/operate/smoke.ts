import { createPublicKey, verify, type JsonWebKeyInput } from 'node:crypto';
import { post } from '../oauth/client.ts';
import { CommandError, type Terminal } from '../terminal.ts';

export interface SmokeOptions {
  readonly issuer: string;
  /** Where the server is reached, when that is not where the issuer says. */
  readonly address: string;
  readonly client: { readonly clientId: string; readonly clientSecret: string | undefined } | undefined;
}

type Json = Readonly<Record<string, unknown>>;
type Key = JsonWebKeyInput['key'] & { readonly kid?: unknown };

const timeoutMs = 10_000;

/**
 * Asks a running server what any deployment can answer: its metadata, its keys, the claims of what is no token, which it must
 * refuse; with a client, a token whose signature then is verified. Throws CommandError at the first answer that is wrong.
 */
export async function smoke({ issuer, address, client }: SmokeOptions, terminal: Terminal): Promise<void> {
  const base = address.replace(/\/$/, '');
  for (const name of ['openid-configuration', 'oauth-authorization-server']) {
    const metadata = await get(`${base}/.well-known/${name}`, terminal);
    if (metadata['issuer'] !== issuer)
      throw new CommandError(`${name} names the issuer ${String(metadata['issuer'])}.`);
    terminal.say(`good  ${name}\n`);
  }
  const { keys } = (await get(`${base}/.well-known/jwks.json`, terminal)) as { keys?: readonly Key[] };
  if (keys === undefined || keys.length === 0) throw new CommandError('There is no signing key.');
  terminal.say(`good  ${keys.length} signing keys\n`);
  await expectRefusal(`${base}/userinfo`, terminal);
  terminal.say('good  what is no token is refused\n');
  if (client === undefined) return;
  const answer = await post(`${base}/token`, client, { grant_type: 'client_credentials' }, terminal);
  const token = answer?.body['access_token'];
  if (answer?.status !== 200 || typeof token !== 'string') {
    throw new CommandError(
      `/token answers with status ${answer?.status ?? 'none'}: ${String(answer?.body['error'])}.`,
    );
  }
  assertSigned(token, keys, issuer);
  terminal.say('good  a token, signed by one of them\n');
}

async function get(url: string, terminal: Pick<Terminal, 'fetch'>): Promise<Json> {
  const answer = await ask(url, {}, terminal);
  if (!answer.ok) throw new CommandError(`${url} answers with status ${answer.status}.`);
  return (await answer.json()) as Json;
}

/** Whoever may reach the server may ask this, in every profile, and it is the token process that refuses (RFC 6750 §3.1). */
async function expectRefusal(url: string, terminal: Pick<Terminal, 'fetch'>): Promise<void> {
  const { status } = await ask(url, { authorization: 'Bearer none' }, terminal);
  if (status !== 401) throw new CommandError(`${url} answers to what is no token with status ${status}.`);
}

async function ask(
  url: string,
  headers: Readonly<Record<string, string>>,
  { fetch }: Pick<Terminal, 'fetch'>,
): Promise<Response> {
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await fetch(url, { headers, redirect: 'error', signal }).catch(() => undefined);
  if (answer === undefined) throw new CommandError(`Nothing answers at ${url}.`);
  return answer;
}

function assertSigned(token: string, keys: readonly Key[], issuer: string): void {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as Json;
  const { kid, alg } = decoded(header);
  const key = keys.find((each) => each.kid === kid);
  if (key === undefined || alg !== 'RS256')
    throw new CommandError('The token is signed by a key that is not published.');
  const signed = Buffer.from(`${header}.${payload}`);
  const isGood = verify(
    'sha256',
    signed,
    createPublicKey({ key, format: 'jwk' }),
    Buffer.from(signature, 'base64url'),
  );
  if (!isGood) throw new CommandError('The signature of the token is not good.');
  if (decoded(payload)['iss'] !== issuer) throw new CommandError('The token is of another issuer.');
}
