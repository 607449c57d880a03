import type { Command } from '../command.ts';
import { post, postOnce } from '../oauth/client.ts';
import { discover } from '../oauth/metadata.ts';
import { paceOf, pollForTokens } from '../oauth/poll.ts';
import { CommandError } from '../terminal.ts';
import { clientOf, flowOptions, printTokens } from './options.ts';

/** Client-initiated backchannel authentication (CIBA Core), with tokens by poll. */
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
  },
  async run(values, terminal) {
    const metadata = await discover(values.required('issuer'), terminal);
    const { token_endpoint: tokenEndpoint, backchannel_authentication_endpoint: start } = metadata;
    if (start === undefined) throw new CommandError(`${metadata.issuer} does not offer CIBA.`);
    const client = clientOf(values);
    const message = values.text('binding-message');
    const parameters = {
      scope: values.text('scope'),
      resource: values.text('resource'),
      login_hint: values.text('login-hint'),
      binding_message: message,
      requested_expiry: values.text('requested-expiry'),
    };
    const started = await postOnce(start, client, parameters, terminal);
    const { auth_req_id: authReqId } = started;
    if (typeof authReqId !== 'string') throw new CommandError('The answer has no auth_req_id.');
    const shown = message === undefined ? '' : ` The request shows "${message}".`;
    terminal.say(`Asked.${shown}\nWaiting for the approval.\n`);
    const grant = { grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id: authReqId };
    const tokens = await pollForTokens(
      async () => post(tokenEndpoint, client, grant, terminal),
      paceOf(started),
      terminal,
    );
    printTokens(tokens, terminal);
  },
};
