import { post, postOnce, type OAuthClient } from '../oauth/client.ts';
import { discover } from '../oauth/metadata.ts';
import { paceOf, pollForTokens } from '../oauth/poll.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { printTokens, type FlowOptions } from './options.ts';
import { qrCode } from './qr-code.ts';

export interface DeviceOptions extends FlowOptions {
  readonly qr: boolean;
}

/** The device flow (RFC 8628), with the terminal as the device. Throws CommandError. */
export async function runDeviceFlow(
  issuer: string,
  client: OAuthClient,
  { scope, resource, qr }: DeviceOptions,
  terminal: Terminal,
): Promise<void> {
  const metadata = await discover(issuer, terminal);
  const { token_endpoint: tokenEndpoint, device_authorization_endpoint: endpoint } = metadata;
  if (endpoint === undefined) throw new CommandError(`${metadata.issuer} does not offer the device flow.`);
  const started = await postOnce(endpoint, client, { scope, resource }, terminal);
  const { device_code: deviceCode } = started;
  if (typeof deviceCode !== 'string') throw new CommandError('The response has no device_code.');
  terminal.say(instructions(started, qr));
  const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: deviceCode };
  const tokens = await pollForTokens(
    async () => post(tokenEndpoint, client, grant, terminal),
    paceOf(started),
    terminal,
  );
  printTokens(tokens, terminal);
}

function instructions(started: Readonly<Record<string, unknown>>, qr: boolean): string {
  const { user_code: userCode, verification_uri: uri, verification_uri_complete: complete } = started;
  const code = qr && typeof complete === 'string' ? `\n${qrCode(complete)}\n` : '';
  return `${code}\n  Open   ${printable(uri)}\n  Enter  ${printable(userCode)}\n\nWaiting for the approval.\n`;
}

/** Text of a server, without control characters that a terminal would obey. */
function printable(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll(/\p{Cc}/gu, '') : '';
}
