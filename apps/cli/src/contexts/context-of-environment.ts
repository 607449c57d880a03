import { issuerOf, issuerVariable } from '../at-hand/issuer-at-hand.ts';
import { orEnvironment } from '../options.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { environmentContext, type NamedContext } from './context-file.ts';
import { checkedContext } from './edit-contexts.ts';

/** Where a pipeline works; it makes the environment the context. */
export const apiVariable = 'TESSERA_API';
/** In place of a login, in every context. */
export const tokenVariable = 'TESSERA_ACCESS_TOKEN';

/**
 * Where a pipeline works, and as whom, without a login that is kept: `TESSERA_API`, with an access token, or with an
 * application and its secret. Throws CommandError.
 */
export async function contextOfEnvironment(terminal: Terminal): Promise<NamedContext> {
  const of = (variable: string) => orEnvironment(undefined, variable, terminal) || undefined;
  const [api, ca, serverName] = [of(apiVariable), of('TESSERA_API_CA'), of('TESSERA_API_SERVER_NAME')];
  if (api === undefined)
    throw new CommandError(`The context ${environmentContext} is where ${apiVariable} says. Set it.`);
  const [clientId, clientSecret] = [of('TESSERA_CLIENT_ID'), of('TESSERA_CLIENT_SECRET')];
  const isClient = clientId !== undefined && clientSecret !== undefined;
  if (!isClient && of(tokenVariable) === undefined)
    throw new CommandError(
      `${apiVariable} needs who asks: ${tokenVariable}_FILE, or TESSERA_CLIENT_ID and TESSERA_CLIENT_SECRET_FILE.`,
    );
  const issuer = of(issuerVariable);
  if (isClient && issuer === undefined)
    throw new CommandError(
      `Set ${issuerVariable}: it says who gets the secret of ${clientId}, and who gives the access token.`,
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
    ...(isClient && { givenClient: { clientId, clientSecret } }),
  };
}
