import type { Command } from '../command.ts';
import { post, postOnce } from '../oauth/client.ts';
import { discover } from '../oauth/metadata.ts';
import { paceOf, pollForTokens } from '../oauth/poll.ts';
import { CommandError } from '../terminal.ts';
import { clientOf, flowOptions, printTokens } from './options.ts';
import { qrCode } from './qr-code.ts';

/** The device flow (RFC 8628), with the terminal as the device. */
export const flowDevice: Command = {
  words: ['flow', 'device'],
  summary: 'get tokens by the device flow: shows a code and a QR code, waits for the approval',
  options: { ...flowOptions, 'no-qr': { type: 'boolean', help: 'Show no QR code' } },
  async run(values, terminal) {
    const metadata = await discover(values.required('issuer'), terminal);
    const { token_endpoint: tokenEndpoint, device_authorization_endpoint: start } = metadata;
    if (start === undefined) throw new CommandError(`${metadata.issuer} does not offer the device flow.`);
    const client = clientOf(values);
    const parameters = { scope: values.text('scope'), resource: values.text('resource') };
    const started = await postOnce(start, client, parameters, terminal);
    const { device_code: deviceCode } = started;
    if (typeof deviceCode !== 'string') throw new CommandError('The answer has no device_code.');
    terminal.say(instructions(started, !values.flag('no-qr')));
    const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: deviceCode };
    const tokens = await pollForTokens(
      async () => post(tokenEndpoint, client, grant, terminal),
      paceOf(started),
      terminal,
    );
    printTokens(tokens, terminal);
  },
};

function instructions(started: Readonly<Record<string, unknown>>, qr: boolean): string {
  const { user_code: userCode, verification_uri: uri, verification_uri_complete: complete } = started;
  const code = qr && typeof complete === 'string' ? `\n${qrCode(complete)}\n` : '';
  return `${code}\n  Open   ${printable(uri)}\n  Enter  ${printable(userCode)}\n\nWaiting for the approval.\n`;
}

/** What a server says goes to a terminal without its control characters. */
function printable(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll(/\p{Cc}/gu, '') : '';
}
