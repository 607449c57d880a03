import { createPublicKey, verify, type JsonWebKeyInput } from 'node:crypto';
import { post } from '../oauth/client.ts';
import { CommandError, type Terminal } from '../terminal.ts';

export interface SmokeOptions {
  readonly issuer: string;
  /** Address of the server if it differs from the issuer. */
  readonly address: string;
  readonly client: { readonly clientId: string; readonly clientSecret: string | undefined } | undefined;
}

type Json = Readonly<Record<string, unknown>>;
type Key = JsonWebKeyInput['key'] & { readonly kid?: unknown };

const timeoutMs = 10_000;

/**
 * Fetches metadata and keys from a running server and checks that it rejects an invalid token. With a client, it also requests a
 * token and verifies its signature. Throws CommandError at the first failed check.
 */
export async function smoke({ issuer, address, client }: SmokeOptions, terminal: Terminal): Promise<void> {
  const base = address.replace(/\/$/, '');
  for (const name of ['openid-configuration', 'oauth-authorization-server']) {
    const metadata = await get(`${base}/.well-known/${name}`, terminal);
    if (metadata['issuer'] !== issuer)
      throw new CommandError(`${name} has issuer ${String(metadata['issuer'])}, not ${issuer}.`);
    terminal.say(`good  ${name}\n`);
  }
  const { keys } = (await get(`${base}/.well-known/jwks.json`, terminal)) as { keys?: readonly Key[] };
  if (keys === undefined || keys.length === 0) throw new CommandError('The key set is empty.');
  terminal.say(`good  ${keys.length} signing keys\n`);
  await expectRefusal(`${base}/userinfo`, terminal);
  terminal.say('good  an invalid token is rejected\n');
  if (client === undefined) return;
  const answer = await post(`${base}/token`, client, { grant_type: 'client_credentials' }, terminal);
  const token = answer?.body['access_token'];
  if (answer?.status !== 200 || typeof token !== 'string') {
    throw new CommandError(
      `/token answered with status ${answer?.status ?? 'none'}: ${String(answer?.body['error'])}.`,
    );
  }
  assertSigned(token, keys, issuer);
  terminal.say('good  a token, signed by one of them\n');
}

async function get(url: string, terminal: Pick<Terminal, 'fetch'>): Promise<Json> {
  const answer = await ask(url, {}, terminal);
  if (!answer.ok) throw new CommandError(`${url} answered with status ${answer.status}.`);
  return (await answer.json()) as Json;
}

/** Every caller may call this in every profile, and the token service must reject the token (RFC 6750 §3.1). */
async function expectRefusal(url: string, terminal: Pick<Terminal, 'fetch'>): Promise<void> {
  const { status } = await ask(url, { authorization: 'Bearer none' }, terminal);
  if (status !== 401)
    throw new CommandError(`${url} answered an invalid token with status ${status} instead of 401.`);
}

async function ask(
  url: string,
  headers: Readonly<Record<string, string>>,
  { fetch }: Pick<Terminal, 'fetch'>,
): Promise<Response> {
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await fetch(url, { headers, redirect: 'error', signal }).catch(() => undefined);
  if (answer === undefined) throw new CommandError(`${url} does not respond.`);
  return answer;
}

function assertSigned(token: string, keys: readonly Key[], issuer: string): void {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as Json;
  const { kid, alg } = decoded(header);
  const key = keys.find((each) => each.kid === kid);
  if (key === undefined || alg !== 'RS256')
    throw new CommandError('The token is signed with an unpublished key.');
  const signed = Buffer.from(`${header}.${payload}`);
  const isGood = verify(
    'sha256',
    signed,
    createPublicKey({ key, format: 'jwk' }),
    Buffer.from(signature, 'base64url'),
  );
  if (!isGood) throw new CommandError('The signature of the token is invalid.');
  if (decoded(payload)['iss'] !== issuer) throw new CommandError('The token has another issuer.');
}
