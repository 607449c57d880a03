import { post, postOnce, refusal, type OAuthClient } from '../oauth/client.ts';
import { discover } from '../oauth/metadata.ts';
import { paceOf, pollForTokens } from '../oauth/poll.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { listenForCallback, type Callback } from './callback.ts';
import { printTokens, type FlowOptions } from './options.ts';

export interface CibaOptions extends FlowOptions {
  readonly loginHint: string;
  readonly bindingMessage?: string;
  readonly requestedExpiry?: string;
  readonly listen?: number;
}

/**
 * Client-initiated backchannel authentication (CIBA Core), with tokens by poll, or by ping or push where it listens. Throws
 * CommandError.
 */
export async function runCibaFlow(
  issuer: string,
  client: OAuthClient,
  options: CibaOptions,
  terminal: Terminal,
): Promise<void> {
  const metadata = await discover(issuer, terminal);
  const { token_endpoint: tokenEndpoint, backchannel_authentication_endpoint: endpoint } = metadata;
  if (endpoint === undefined) throw new CommandError(`${metadata.issuer} does not offer CIBA.`);
  const listener = options.listen === undefined ? undefined : await listenForCallback(options.listen);
  try {
    const started = await postOnce(
      endpoint,
      client,
      parametersOf(options, listener?.notificationToken),
      terminal,
    );
    const { bindingMessage } = options;
    const shown = bindingMessage === undefined ? '' : ` The request shows "${bindingMessage}".`;
    terminal.say(`Asked.${shown}\nWaiting for the approval.\n`);
    const { auth_req_id: authReqId } = started;
    if (typeof authReqId !== 'string') throw new CommandError('The response has no auth_req_id.');
    const callback = await listener?.callback(authReqId, paceOf(started).expiresIn);
    const pushed = callback && pushedTokens(callback);
    if (pushed !== undefined) return printTokens(pushed, terminal);
    const grant = { grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id: authReqId };
    const tokens = await pollForTokens(
      async () => post(tokenEndpoint, client, grant, terminal),
      // After a ping the tokens are ready.
      { ...paceOf(started), ...(callback !== undefined && { interval: 0 }) },
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

/** The tokens of a push; undefined for a ping. Throws CommandError with what a push says instead (CIBA Core §12). */
function pushedTokens(callback: Callback): Callback | undefined {
  if (callback['error'] !== undefined)
    throw new CommandError(refusal({ status: 400, body: callback, retryAfter: undefined }));
  return callback['access_token'] === undefined ? undefined : callback;
}
