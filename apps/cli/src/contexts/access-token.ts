import { Secret } from '@tessera/kit';
import { commandLineClientId } from '@tessera/oauth';
import { orEnvironment } from '../options.ts';
import { nameOf, type OAuthClient } from '../oauth/acting-client.ts';
import type { Tokens } from '../oauth/poll.ts';
import { CommandError, type Terminal } from '../terminal.ts';
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
  if (givenClient !== undefined) {
    const { clientTokens } = await import('./client-tokens.ts');
    return new Secret(loginOf(await clientTokens(issuer, givenClient, terminal), terminal).accessToken);
  }
  if (login !== undefined && login.expiresAt - marginMs > terminal.now())
    return new Secret(login.accessToken);
  if (client !== undefined) {
    const { clientOfContext, clientTokens } = await import('./client-tokens.ts');
    const renewed = loginOf(await clientTokens(issuer, clientOfContext(client), terminal), terminal);
    await keepLogin(name, renewed, terminal);
    return new Secret(renewed.accessToken);
  }
  if (login === undefined)
    throw new CommandError(`You are not logged in to ${name}. Run tessera login --context ${name}.`);
  const { refreshToken } = login;
  if (refreshToken === undefined) return endLogin(name, terminal);
  const renewed = await renewedLogin(context, refreshToken, terminal);
  if (renewed === undefined) return endLogin(name, terminal);
  await keepLogin(name, renewed, terminal);
  return new Secret(renewed.accessToken);
}

/** The login that a refresh token gives; undefined if it is no longer valid. Throws CommandError. */
async function renewedLogin(
  context: NamedContext,
  refreshToken: string,
  terminal: Terminal,
): Promise<Login | undefined> {
  const { refreshTokenGrant } = await import('openid-client');
  const { discover, requestError, RequestError } = await import('../oauth/oauth-client.ts');
  const config = await discover(context.issuer, commandLine(context), terminal);
  // Two commands at once renew with one refresh token: the server gives both the same successor.
  const answer = await refreshTokenGrant(config, refreshToken).catch(requestError);
  if (!(answer instanceof RequestError)) return loginOf(answer, terminal, refreshToken);
  if (answer.code === 'invalid_grant' || answer.code === 'invalid_client') return undefined;
  throw new CommandError(`The login to ${context.name} cannot be renewed now: ${answer.message}`);
}

/** What is done once the API accepts an access token no longer. Throws CommandError. */
export async function refusedLogin(context: NamedContext, terminal: Terminal): Promise<never> {
  const { name, api, client, givenClient = client } = context;
  const isGiven = orEnvironment(undefined, tokenVariable, terminal);
  if (!isGiven && givenClient === undefined) return endLogin(name, terminal);
  if (!isGiven && client !== undefined) await keepLogin(name, undefined, terminal);
  const { clientId = '' } = givenClient ?? {};
  const what = isGiven ? `the token of ${tokenVariable}` : `the application ${nameOf({ clientId })}`;
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
