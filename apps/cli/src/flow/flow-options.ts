import type { Command } from 'commander';
import { issuerDefault, issuerVariable } from '../at-hand/issuer-at-hand.ts';
import type { OAuthClient } from '../oauth/acting-client.ts';
import { tokenIn } from '../oauth/proof-files.ts';
import { environmentHelp, nonEmpty, orEnvironment, tokenFileOption } from '../options.ts';
import { CommandError, type Terminal } from '../terminal.ts';

const variables = {
  clientId: 'TESSERA_CLIENT_ID',
  clientSecret: 'TESSERA_CLIENT_SECRET',
  assertion: 'TESSERA_CLIENT_ASSERTION',
} as const;

/** The deployment and the client that a command acts as. */
export interface ClientOptions {
  readonly issuer?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly tokenFile?: string;
}

/** Options of every flow. */
export interface FlowOptions extends ClientOptions {
  readonly scope: string;
  readonly resource?: string;
}

export function addClientOptions(command: Command): Command {
  return command
    .option(
      '--issuer <url>',
      `issuer of the deployment ${environmentHelp(issuerVariable)} (${issuerDefault})`,
    )
    .option('--client-id <id>', `application to act as ${environmentHelp(variables.clientId)}`)
    .option(
      '--client-secret <secret>',
      `its secret; other users of the machine can see arguments, so prefer the file ${environmentHelp(variables.clientSecret)}`,
    )
    .option(...tokenFileOption, nonEmpty);
}

export function addFlowOptions(command: Command): Command {
  return addClientOptions(command)
    .option('--scope <scopes>', 'space-delimited scopes', 'openid')
    .option('--resource <audience>', 'audience of the API that the token is for');
}

/** The client to act as; undefined when neither a client ID nor a token is given. Throws CommandError. */
export function clientOf(options: ClientOptions, terminal: Terminal): OAuthClient | undefined {
  const { tokenFile } = options;
  const clientId = orEnvironment(options.clientId, variables.clientId, terminal) ?? '';
  const clientSecret = orEnvironment(options.clientSecret, variables.clientSecret, terminal);
  const token = () => orEnvironment(undefined, variables.assertion, terminal) ?? '';
  if (tokenFile !== undefined || token() !== '') {
    if (clientSecret)
      throw new CommandError('An application proves who it is by a token or a secret, not both.', 2);
    const assertion = tokenFile === undefined ? token : () => tokenIn(tokenFile);
    return { clientId, clientSecret: undefined, assertion };
  }
  return clientId === '' ? undefined : { clientId, clientSecret };
}

/** As `clientOf`, for a command that requires a client. Throws a usage error without one. */
export function requiredClient(options: ClientOptions, command: Command, terminal: Terminal): OAuthClient {
  return (
    clientOf(options, terminal) ?? command.error(`error: --client-id or ${variables.clientId} is required.`)
  );
}

/** Writes the token response to standard output. */
export function printTokens(body: Readonly<Record<string, unknown>>, { out, say }: Terminal): void {
  say('Approved.\n');
  out(`${JSON.stringify(body, null, 2)}\n`);
}
