import { issuerOf, issuerVariable } from '../at-hand/issuer-at-hand.ts';
import { orEnvironment } from '../options.ts';
import { nameOf, type OAuthClient } from '../oauth/acting-client.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { environmentContext, localContext, type NamedContext } from './context-file.ts';
import { checkedContext } from './edit-contexts.ts';

/** Where a pipeline works; it makes the environment the context. */
export const apiVariable = 'TESSERA_API';
/** In place of a login, in every context. */
export const tokenVariable = 'TESSERA_ACCESS_TOKEN';
/** What is said of that API alone. */
const ofApi = [
  'TESSERA_CLIENT_ID',
  'TESSERA_CLIENT_SECRET',
  'TESSERA_CLIENT_ASSERTION',
  'TESSERA_API_CA',
  'TESSERA_API_SERVER_NAME',
];

/**
 * Throws CommandError where the environment says who asks, or how the API is reached, and neither it nor the command
 * line says where: the command would work on another installation, as somebody else.
 * @param takesToken whether what it would work on takes the access token of the environment
 */
export function refuseWithoutApi(
  { environment }: Pick<Terminal, 'environment'>,
  { takesToken }: { readonly takesToken: boolean },
): void {
  const variables = takesToken ? ofApi : [tokenVariable, ...ofApi];
  const given = variables.flatMap((name) => [name, `${name}_FILE`]).find((name) => environment[name]);
  if (given === undefined) return;
  throw new CommandError(
    `${given} is set and ${apiVariable} is not. Set ${apiVariable} to where administration is served, or unset ${given}, or choose by --context (${localContext}: the process whose data directory is at hand).`,
    2,
  );
}

/**
 * Where a pipeline works, and as whom, without a login that is kept: `TESSERA_API`, with an access token, or as an
 * application, by a token of the platform or a secret. Throws CommandError.
 */
export async function contextOfEnvironment(terminal: Terminal): Promise<NamedContext> {
  const of = (variable: string) => orEnvironment(undefined, variable, terminal) || undefined;
  const [api, ca, serverName] = [of(apiVariable), of('TESSERA_API_CA'), of('TESSERA_API_SERVER_NAME')];
  if (api === undefined)
    throw new CommandError(`The context ${environmentContext} is where ${apiVariable} says. Set it.`);
  const client = clientOfEnvironment(of);
  if (client === undefined && of(tokenVariable) === undefined)
    throw new CommandError(
      `${apiVariable} needs who asks: ${tokenVariable}_FILE, TESSERA_CLIENT_ASSERTION_FILE, or TESSERA_CLIENT_ID and TESSERA_CLIENT_SECRET_FILE.`,
    );
  const issuer = of(issuerVariable);
  if (client !== undefined && issuer === undefined)
    throw new CommandError(
      `Set ${issuerVariable}: it says who gets what proves the application ${nameOf(client)}, and who gives the access token.`,
    );
  const settings = {
    api,
    issuer: issuer ?? (await issuerOf({}, terminal)),
    ...(serverName !== undefined && { serverName }),
  };
  return {
    name: environmentContext,
    ...checkedContext(settings, { api: apiVariable, issuer: issuerVariable }),
    ...(ca !== undefined && { ca }),
    ...(client && { givenClient: client }),
  };
}

function clientOfEnvironment(of: (variable: string) => string | undefined): OAuthClient | undefined {
  const [clientId = '', clientSecret] = [of('TESSERA_CLIENT_ID'), of('TESSERA_CLIENT_SECRET')];
  const token = () => of('TESSERA_CLIENT_ASSERTION');
  if (token() === undefined)
    return clientId === '' || clientSecret === undefined ? undefined : { clientId, clientSecret };
  if (clientSecret !== undefined)
    throw new CommandError('Set TESSERA_CLIENT_ASSERTION or TESSERA_CLIENT_SECRET, not both.', 2);
  return { clientId, clientSecret: undefined, assertion: () => token() ?? '' };
}
