import { initiateBackchannelAuthentication } from 'openid-client';
import type { OAuthClient } from '../oauth/acting-client.ts';
import { discover, given, requestError } from '../oauth/oauth-client.ts';
import { pollForTokens } from '../oauth/poll.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { printTokens, type FlowOptions } from './flow-options.ts';
import { listenForPing } from './ping-listener.ts';

export interface CibaOptions extends FlowOptions {
  readonly loginHint: string;
  readonly bindingMessage?: string;
  readonly requestedExpiry?: string;
  readonly listen?: number;
}

/**
 * Client-initiated backchannel authentication (CIBA Core), with tokens by poll, or by ping where it listens. Throws
 * CommandError.
 */
export async function runCibaFlow(
  issuer: string,
  client: OAuthClient,
  options: CibaOptions,
  terminal: Terminal,
): Promise<void> {
  const config = await discover(issuer, client, terminal);
  if (config.serverMetadata().backchannel_authentication_endpoint === undefined)
    throw new CommandError(`${issuer} does not offer CIBA.`);
  const listener = options.listen === undefined ? undefined : await listenForPing(options.listen);
  try {
    const parameters = given(parametersOf(options, listener?.notificationToken));
    const started = await initiateBackchannelAuthentication(config, parameters).catch(
      async (error: unknown) => Promise.reject(await requestError(error)),
    );
    const { bindingMessage } = options;
    const shown = bindingMessage === undefined ? '' : ` The request shows "${bindingMessage}".`;
    terminal.say(`Asked.${shown}\nWaiting for the approval.\n`);
    const { auth_req_id: authReqId, expires_in: expiresIn } = started;
    await listener?.pinged(authReqId, expiresIn);
    const tokens = await pollForTokens(
      config,
      'urn:openid:params:grant-type:ciba',
      { auth_req_id: authReqId },
      // After a ping the tokens are ready.
      { expiresIn, interval: listener === undefined ? started.interval : 0 },
      terminal,
    );
    printTokens(tokens, terminal);
  } finally {
    listener?.close();
  }
}

function parametersOf(options: CibaOptions, notificationToken: string | undefined) {
  return {
    scope: options.scope,
    resource: options.resource,
    login_hint: options.loginHint,
    binding_message: options.bindingMessage,
    requested_expiry: options.requestedExpiry,
    client_notification_token: notificationToken,
  };
}
