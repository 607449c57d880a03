import { readFileSync } from 'node:fs';
import {
  Code,
  ConnectError,
  operatorRemedy,
  type CallOptions,
  type RemoteService,
} from '@tessera/rpc/caller';
import { connectClients } from './connect-clients.ts';
import { safeAddress } from '../oauth/safe-address.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { accessToken, refusedLogin } from './access-token.ts';
import type { NamedContext } from './context-file.ts';

type ClientOf = RemoteService['client'];

/** Work on the administration API of a context, with the login of who runs the command. Both throw CommandError. */
export async function withContext<T>(
  context: NamedContext,
  terminal: Terminal,
  run: (clientOf: ClientOf, call: CallOptions) => Promise<T>,
): Promise<{ readonly clientOf: ClientOf; run(clientOf: ClientOf, call: CallOptions): Promise<T> }> {
  const { name, api, ca, caFile, serverName } = context;
  // An earlier version kept others.
  const url = safeAddress(`The API of the context ${name}`, api);
  const token = await accessToken(context, terminal);
  const tls = {
    ...(caFile !== undefined && { ca: contentOf(caFile) }),
    ...(ca !== undefined && { ca }),
    ...(serverName !== undefined && { servername: serverName }),
  };
  return {
    clientOf: connectClients({ url, token, asOperator: false, ...(url.startsWith('https:') && { tls }) }),
    async run(clientOf, call) {
      try {
        return await run(clientOf, call);
      } catch (error) {
        if (!(error instanceof ConnectError)) throw error;
        if (error.code === Code.Unauthenticated) return refusedLogin(context, terminal);
        if (operatorRemedy(error) !== undefined) throw error;
        if (error.code !== Code.Unavailable && !isOfConnection(error.cause)) throw error;
        const hint = url.startsWith('https:')
          ? ' Are --ca-file and --server-name of tessera login right?'
          : '';
        throw new CommandError(
          `The administration API of the context ${name} does not answer at ${url}: ${error.rawMessage}.${hint}`,
        );
      }
    },
  };
}

/** Whether Node could not open the connection, for example because of a certificate that it does not trust. */
function isOfConnection(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string';
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new CommandError(`Cannot read the file ${file} of the context (--ca-file).`);
  }
}
