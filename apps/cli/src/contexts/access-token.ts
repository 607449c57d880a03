import { Secret } from '@tessera/kit';
import { commandLineClientId } from '@tessera/oauth';
import { refreshTokenGrant } from 'openid-client';
import { orEnvironment } from '../options.ts';
import { discover, requestError, RequestError, type OAuthClient } from '../oauth/oauth-client.ts';
import type { Tokens } from '../oauth/poll.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { clientTokens, secretIn } from './client-tokens.ts';
import { changeContexts, type Context, type Login, type NamedContext } from './context-file.ts';
import { tokenVariable } from './context-of-environment.ts';

/** So long before its end, an access token is renewed. */
const marginMs = 30_000;

/** The command line as a client, which every issuer of administrators knows. */
export function commandLine({ tenant }: Pick<Context, 'tenant'>): OAuthClient {
  return { clientId: commandLineClientId(tenant), clientSecret: undefined };
}

/**
 * The access token of the environment, else one of the application or login of the context, renewed if it has expired.
 * Throws CommandError without a login, and if it has ended.
 */
export async function accessToken(context: NamedContext, terminal: Terminal): Promise<Secret> {
  const { name, issuer, login, client, givenClient } = context;
  const given = orEnvironment(undefined, tokenVariable, terminal);
  if (given) return new Secret(given);
  if (givenClient !== undefined)
    return new Secret(loginOf(await clientTokens(issuer, givenClient, terminal), terminal).accessToken);
  if (login !== undefined && login.expiresAt - marginMs > terminal.now())
    return new Secret(login.accessToken);
  if (client !== undefined) {
    const { clientId, secretFile } = client;
    const asked = { clientId, clientSecret: secretIn(secretFile) };
    const renewed = loginOf(await clientTokens(issuer, asked, terminal), terminal);
    await keepLogin(name, renewed, terminal);
    return new Secret(renewed.accessToken);
  }
  if (login === undefined)
    throw new CommandError(`You are not logged in to ${name}. Run tessera login --context ${name}.`);
  const { refreshToken } = login;
  if (refreshToken === undefined) return endLogin(name, terminal);
  const config = await discover(issuer, commandLine(context), terminal);
  // Two commands at once renew with one refresh token: the server gives both the same successor.
  const answer = await refreshTokenGrant(config, refreshToken).catch(requestError);
  if (answer instanceof RequestError) {
    if (answer.code === 'invalid_grant' || answer.code === 'invalid_client') return endLogin(name, terminal);
    throw new CommandError(`The login to ${name} cannot be renewed now: ${answer.message}`);
  }
  const renewed = loginOf(answer, terminal, refreshToken);
  await keepLogin(name, renewed, terminal);
  return new Secret(renewed.accessToken);
}

/** What is done once the API accepts an access token no longer. Throws CommandError. */
export async function refusedLogin(context: NamedContext, terminal: Terminal): Promise<never> {
  const { name, api, client, givenClient = client } = context;
  const isGiven = orEnvironment(undefined, tokenVariable, terminal);
  if (!isGiven && givenClient === undefined) return endLogin(name, terminal);
  if (!isGiven && client !== undefined) await keepLogin(name, undefined, terminal);
  const what = isGiven ? `the token of ${tokenVariable}` : `the application ${String(givenClient?.clientId)}`;
  throw new CommandError(`The administration API at ${api} does not accept ${what}.`);
}

/** Forgets a login that is no longer valid. Throws CommandError. */
async function endLogin(name: string, terminal: Terminal): Promise<never> {
  await keepLogin(name, undefined, terminal);
  throw new CommandError(`Your login to ${name} has ended. Run tessera login --context ${name}.`);
}

/** The login of a token response (RFC 6749 §5.1). */
export function loginOf(tokens: Tokens, { now }: Pick<Terminal, 'now'>, refreshToken?: string): Login {
  const { access_token: access, expires_in: seconds, refresh_token: next = refreshToken } = tokens;
  if (typeof access !== 'string') throw new CommandError('The server gave no access token.');
  return {
    accessToken: access,
    expiresAt: now() + (typeof seconds === 'number' ? seconds : 60) * 1000,
    ...(typeof next === 'string' && { refreshToken: next }),
  };
}

async function keepLogin(name: string, login: Login | undefined, terminal: Terminal): Promise<void> {
  await changeContexts(terminal, ({ contexts, ...rest }) => {
    const { [name]: present, ...others } = contexts;
    if (present === undefined) return { ...rest, contexts };
    const { login: _former, ...settings } = present;
    return { ...rest, contexts: { ...others, [name]: { ...settings, ...(login && { login }) } } };
  });
}
