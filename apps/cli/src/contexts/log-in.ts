import { adminAudience, adminScopes } from '@tessera/oauth';
import { tokenRevocation } from 'openid-client';
import { resolve } from 'node:path';
import { issuerOf, processAtHand } from '../at-hand/issuer-at-hand.ts';
import { deviceTokens } from '../flow/device.ts';
import { discover, requestError, RequestError } from '../oauth/oauth-client.ts';
import type { Tokens } from '../oauth/poll.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { commandLine, loginOf } from './access-token.ts';
import { chosenContext, namedContext } from './chosen-context.ts';
import { clientOfContext, clientTokens } from './client-tokens.ts';
import { changeContexts, readContexts, type Context } from './context-file.ts';
import { checkedContext, checkedName, defaultApi, type ContextSettings } from './edit-contexts.ts';

export interface LoginOptions extends ContextSettings {
  readonly qr: boolean;
  /** An application that logs in, in place of a person, and the file with its secret. */
  readonly clientId?: string | undefined;
  readonly clientSecretFile?: string | undefined;
  /** With a token of its platform, in place of a secret. */
  readonly tokenFile?: string | undefined;
}

const scope = ['offline_access', ...adminScopes.keys()].join(' ');

/**
 * Logs in by the device flow (RFC 8628) at the issuer of the operator tenant, or of the tenant that has one of its own,
 * or as an application (RFC 6749 §4.4), and makes the context current. Settings that are not given are those of the
 * context. Throws CommandError.
 */
export async function logIn(options: LoginOptions, terminal: Terminal): Promise<void> {
  const { qr, clientId, clientSecretFile, tokenFile, ...given } = options;
  const { name, settings } = await contextFor(given, terminal);
  const client = clientOf({ clientId, clientSecretFile, tokenFile }) ?? settings.client;
  const tokens = await (client === undefined
    ? tokensOfPerson(settings, qr, terminal)
    : clientTokens(settings.issuer, clientOfContext(client), terminal));
  const login = loginOf(tokens, terminal);
  await changeContexts(terminal, ({ contexts }) => ({
    current: name,
    contexts: { ...contexts, [name]: { ...settings, login, ...(client && { client }) } },
  }));
  terminal.say(`Logged in to ${settings.issuer}. Commands use the context ${name}, at ${settings.api}.\n`);
}

function clientOf({
  clientId,
  clientSecretFile,
  tokenFile,
}: Pick<LoginOptions, 'clientId' | 'clientSecretFile' | 'tokenFile'>): Context['client'] {
  if (tokenFile !== undefined && clientSecretFile !== undefined)
    throw new CommandError('An application logs in with --token-file or --client-secret-file, not both.', 2);
  if (tokenFile !== undefined)
    return { ...(clientId !== undefined && { clientId }), tokenFile: resolve(tokenFile) };
  if (clientId === undefined && clientSecretFile === undefined) return undefined;
  if (clientId === undefined || clientSecretFile === undefined)
    throw new CommandError(
      'An application logs in with both --client-id and --client-secret-file, or with --token-file.',
      2,
    );
  return { clientId, secretFile: resolve(clientSecretFile) };
}

async function tokensOfPerson(settings: Context, qr: boolean, terminal: Terminal): Promise<Tokens> {
  const request = { scope, resource: adminAudience, qr };
  return deviceTokens(settings.issuer, commandLine(settings), request, terminal).catch((error: unknown) => {
    throw isUnknownHere(error, settings) ? new CommandError(`${error.message} ${hintOf(settings)}`) : error;
  });
}

/** Whether the issuer does not know the command line of the operator tenant, as that of another tenant does not. */
function isUnknownHere(error: unknown, { tenant }: Context): error is RequestError {
  return error instanceof RequestError && error.code === 'invalid_client' && tenant === undefined;
}

/** The tenant is in the path of an issuer at a shared host. */
function hintOf({ issuer }: Context): string {
  const [, tenant] = /^\/t\/([a-z\d-]+)\/?$/.exec(new URL(issuer).pathname) ?? [];
  return tenant === undefined
    ? 'If this is the issuer of one tenant, name that with --tenant.'
    : `If this is the issuer of the tenant ${tenant}, add --tenant ${tenant}.`;
}

/** Revokes the login of the context and forgets it. Throws CommandError if there is none. */
export async function logOut(terminal: Terminal): Promise<void> {
  const context = await chosenContext(terminal);
  const { name = '', login, client } = context ?? {};
  if (context === undefined || (login === undefined && client === undefined))
    throw new CommandError(
      context === undefined ? 'You are not logged in.' : `You are not logged in to ${name}.`,
    );
  // First, so that nothing is left if the server does not answer.
  await changeContexts(terminal, ({ contexts, ...rest }) => {
    const { login: _former, client: _client, ...settings } = contexts[name] ?? context;
    const { name: _name, ...kept } = { name, ...settings };
    return { ...rest, contexts: { ...contexts, [name]: kept } };
  });
  const refreshToken = login?.refreshToken;
  if (refreshToken === undefined) return terminal.say(`Logged out of ${name}.\n`);
  try {
    const config = await discover(context.issuer, commandLine(context), terminal);
    await tokenRevocation(config, refreshToken, { token_type_hint: 'refresh_token' });
    terminal.say(`Logged out of ${name}.\n`);
  } catch (error) {
    const { message } = error instanceof CommandError ? error : await requestError(error);
    terminal.say(
      `Logged out of ${name} here. ${context.issuer} could not be told, where the login ends after 7 days without use: ${message}\n`,
    );
  }
}

async function contextFor(
  given: ContextSettings,
  terminal: Terminal,
): Promise<{ readonly name: string; readonly settings: Context }> {
  const { current, contexts } = await readContexts(terminal);
  const isNew = given.issuer !== undefined || given.tenant !== undefined;
  const named = namedContext(terminal) ?? (isNew ? undefined : current);
  const present = named === undefined ? undefined : contexts[named];
  const issuer = given.issuer ?? present?.issuer ?? (await issuerOf({}, terminal));
  const { login: _former, client, defaultTenant, ...kept } = present ?? {};
  // No other issuer gets the secret of an application, and it may not have the tenant.
  const own =
    present?.issuer === issuer
      ? { ...(client && { client }), ...(defaultTenant && !given.tenant && { defaultTenant }) }
      : {};
  const settings = checkedContext({ api: await apiAtHand(terminal), ...kept, ...own, ...given, issuer });
  return { name: checkedName(named ?? nameOf(settings)), settings };
}

/** The host of the issuer, and the tenant. */
function nameOf({ issuer, tenant }: Pick<Context, 'issuer' | 'tenant'>): string {
  const host = new URL(issuer).host.replaceAll(':', '-');
  return tenant === undefined ? host : `${host}-${tenant}`;
}

/** Of the process whose data directory is at hand, else where a port is forwarded to. */
async function apiAtHand(terminal: Terminal): Promise<string> {
  const found = await processAtHand(terminal);
  return found === undefined ? defaultApi : `http://${found.target}`;
}
