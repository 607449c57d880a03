import type { Command, Values } from '../command.ts';
import { post, postOnce, refusal, type OAuthClient } from '../oauth/client.ts';
import { discover } from '../oauth/metadata.ts';
import { paceOf, pollForTokens } from '../oauth/poll.ts';
import { CommandError, UsageError, type Terminal } from '../terminal.ts';
import { listenForCallback, type Callback, type CallbackListener } from './callback.ts';
import { clientOf, flowOptions, printTokens } from './options.ts';

/** Client-initiated backchannel authentication (CIBA Core), with tokens by poll, or by ping or push where it listens. */
export const flowCiba: Command = {
  words: ['flow', 'ciba'],
  summary: 'get tokens by CIBA: asks a person who is elsewhere, waits for the approval',
  options: {
    ...flowOptions,
    'login-hint': {
      type: 'string',
      help: 'Whom to ask: user name, e-mail address or phone number',
      required: true,
    },
    'binding-message': { type: 'string', help: 'What the person sees both here and there' },
    'requested-expiry': { type: 'string', help: 'Seconds after which to give up' },
    listen: {
      type: 'string',
      help: 'Port of 127.0.0.1 to be told at, for an application with ping or push whose notificationEndpoint leads there',
    },
  },
  async run(values, terminal) {
    const metadata = await discover(values.required('issuer'), terminal);
    const { token_endpoint: tokenEndpoint, backchannel_authentication_endpoint: endpoint } = metadata;
    if (endpoint === undefined) throw new CommandError(`${metadata.issuer} does not offer CIBA.`);
    const port = portOf(values);
    const listener = port === undefined ? undefined : await listenForCallback(port);
    try {
      const client = clientOf(values);
      const started = await start({ endpoint, client, values, listener }, terminal);
      const { auth_req_id: authReqId } = started;
      if (typeof authReqId !== 'string') throw new CommandError('The answer has no auth_req_id.');
      const callback = await listener?.callback(authReqId, paceOf(started).expiresIn);
      const pushed = callback && pushedTokens(callback);
      if (pushed !== undefined) return printTokens(pushed, terminal);
      const grant = { grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id: authReqId };
      const tokens = await pollForTokens(
        async () => post(tokenEndpoint, client, grant, terminal),
        // Who was pinged asks at once.
        { ...paceOf(started), ...(callback !== undefined && { interval: 0 }) },
        terminal,
      );
      printTokens(tokens, terminal);
    } finally {
      listener?.close();
    }
  },
};

function portOf(values: Values): number | undefined {
  const text = values.text('listen');
  if (text === undefined) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new UsageError('--listen must be a port.');
}

async function start(
  asked: {
    readonly endpoint: string;
    readonly client: OAuthClient;
    readonly values: Values;
    readonly listener: CallbackListener | undefined;
  },
  terminal: Terminal,
): Promise<Callback> {
  const { endpoint, client, values, listener } = asked;
  const message = values.text('binding-message');
  const parameters = {
    scope: values.text('scope'),
    resource: values.text('resource'),
    login_hint: values.text('login-hint'),
    binding_message: message,
    requested_expiry: values.text('requested-expiry'),
    client_notification_token: listener?.notificationToken,
  };
  const started = await postOnce(endpoint, client, parameters, terminal);
  const shown = message === undefined ? '' : ` The request shows "${message}".`;
  terminal.say(`Asked.${shown}\nWaiting for the approval.\n`);
  return started;
}

/** The tokens of a push; undefined for a ping. Throws CommandError with what a push says instead (CIBA Core §12). */
function pushedTokens(callback: Callback): Callback | undefined {
  if (callback['error'] !== undefined)
    throw new CommandError(refusal({ status: 400, body: callback, retryAfter: undefined }));
  return callback['access_token'] === undefined ? undefined : callback;
}
