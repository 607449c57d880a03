import { initiateDeviceAuthorization, type DeviceAuthorizationResponse } from 'openid-client';
import type { OAuthClient } from '../oauth/acting-client.ts';
import { discover, given, requestError } from '../oauth/oauth-client.ts';
import { pollForTokens, type Tokens } from '../oauth/poll.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { printTokens, type FlowOptions } from './flow-options.ts';
import { qrCode } from './qr-code.ts';

export interface DeviceOptions extends FlowOptions {
  readonly qr: boolean;
}

/** The device flow (RFC 8628), with the terminal as the device. Throws CommandError. */
export async function runDeviceFlow(
  issuer: string,
  client: OAuthClient,
  options: DeviceOptions,
  terminal: Terminal,
): Promise<void> {
  printTokens(await deviceTokens(issuer, client, options, terminal), terminal);
}

/** The tokens of a device flow, after the instructions for the person. Throws CommandError. */
export async function deviceTokens(
  issuer: string,
  client: OAuthClient,
  { scope, resource, qr }: Pick<DeviceOptions, 'scope' | 'resource' | 'qr'>,
  terminal: Terminal,
): Promise<Tokens> {
  const config = await discover(issuer, client, terminal);
  if (config.serverMetadata().device_authorization_endpoint === undefined)
    throw new CommandError(`${issuer} does not offer the device flow.`);
  const started = await initiateDeviceAuthorization(config, given({ scope, resource })).catch(
    async (error: unknown) => Promise.reject(await requestError(error)),
  );
  terminal.say(instructions(started, qr));
  return pollForTokens(
    config,
    'urn:ietf:params:oauth:grant-type:device_code',
    { device_code: started.device_code },
    { expiresIn: started.expires_in, interval: started.interval },
    terminal,
  );
}

function instructions(started: DeviceAuthorizationResponse, qr: boolean): string {
  const { user_code: userCode, verification_uri: uri, verification_uri_complete: complete } = started;
  const code = qr && complete !== undefined ? `\n${qrCode(complete)}\n` : '';
  return `${code}\n  Open   ${printable(uri)}\n  Enter  ${printable(userCode)}\n\nWaiting for the approval.\n`;
}

/** Text of a server, without control characters that a terminal would obey. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '');
}
