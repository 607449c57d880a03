import { createLocalJWKSet, errors, jwtVerify, type JWK } from 'jose';
import { clientCredentialsGrant } from 'openid-client';
import type { OAuthClient } from '../oauth/acting-client.ts';
import { endpointsOf, requestError, requireSafeEndpoints } from '../oauth/oauth-client.ts';
import { safeAddress } from '../oauth/safe-address.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { patientFetch } from './patient-fetch.ts';

export interface SmokeOptions {
  readonly issuer: string;
  /** Address of the server if it differs from the issuer. */
  readonly address: string;
  readonly client: OAuthClient | undefined;
  /** How long to wait for a server that does not respond or is not ready; 0 by default. */
  readonly waitMs?: number;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Fetches metadata and keys from a running server and checks that it rejects an invalid token. With a client, it also
 * requests a token and verifies its signature. Throws CommandError at the first failed check.
 */
export async function smoke(
  { issuer, address, client, waitMs = 0 }: SmokeOptions,
  atTerminal: Terminal,
): Promise<void> {
  const terminal = { ...atTerminal, fetch: patientFetch(atTerminal, waitMs) };
  const base = address.replace(/\/$/, '');
  const documents: Json[] = [];
  for (const name of ['openid-configuration', 'oauth-authorization-server']) {
    const metadata = await get(`${base}/.well-known/${name}`, terminal);
    if (metadata['issuer'] !== issuer)
      throw new CommandError(`${name} has issuer ${String(metadata['issuer'])}, not ${issuer}.`);
    documents.push(metadata);
    terminal.say(`good  ${name}\n`);
  }
  const { keys } = (await get(`${base}/.well-known/jwks.json`, terminal)) as { keys?: JWK[] };
  if (keys === undefined || keys.length === 0) throw new CommandError('The key set is empty.');
  terminal.say(`good  ${keys.length} signing keys\n`);
  await expectRefusal(`${base}/userinfo`, terminal);
  terminal.say('good  an invalid token is rejected\n');
  if (client === undefined) return;
  // Who gives an address of its own, such as that of a service in a cluster, knows the network to it.
  if (address === issuer) {
    safeAddress('--issuer', issuer);
    for (const metadata of documents) requireSafeEndpoints(issuer, metadata);
  }
  const server = endpointsOf({ issuer, token_endpoint: `${base}/token` }, client, terminal);
  const { access_token: token } = await clientCredentialsGrant(server).catch(async (error: unknown) => {
    const { status = 'none', code } = await requestError(error);
    throw new CommandError(`/token answered with status ${status}: ${code}.`);
  });
  await assertSigned(token, { keys }, { issuer, currentDate: new Date(terminal.now()) });
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
  return fetch(url, { headers, redirect: 'error' });
}

async function assertSigned(
  token: string,
  keys: { readonly keys: JWK[] },
  expected: { readonly issuer: string; readonly currentDate: Date },
): Promise<void> {
  await jwtVerify(token, createLocalJWKSet(keys), expected).catch((error: unknown) => {
    if (error instanceof errors.JWKSNoMatchingKey)
      throw new CommandError('The token is signed with an unpublished key.');
    if (error instanceof errors.JWSSignatureVerificationFailed)
      throw new CommandError('The signature of the token is invalid.');
    if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'iss')
      throw new CommandError('The token has another issuer.');
    if (error instanceof errors.JOSEError) throw new CommandError(`The token is invalid: ${error.message}.`);
    throw error;
  });
}
