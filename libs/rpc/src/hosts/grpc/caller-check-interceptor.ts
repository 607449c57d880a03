import { Code, ConnectError } from '@connectrpc/connect';
import { ServerInterceptingCall } from '@grpc/grpc-js';
import type {
  Metadata,
  ServerInterceptingCallInterface,
  ServerInterceptor,
  StatusObject,
} from '@grpc/grpc-js';
import { OAuthError } from '@tessera/oauth';
import { limitRepeats } from '@tessera/telemetry';
import type { Logger } from 'pino';
import { acceptableRequestId, requestIdKey, rootCall } from '../../call-options.ts';
import type { CallContext, CallerName } from '../../call.ts';
import type { RpcServerCredentials } from '../../credentials.ts';
import { toStatus } from '../../error-status.ts';
import { authenticationBy, identityHelp, presentedToken } from '../../access/authenticate-caller.ts';
import { checkCaller, type Access, type AuthenticatedCaller } from '../../access/check-caller.ts';

export interface CallerCheckOptions {
  readonly credentials: RpcServerCredentials;
  /** By path: `/<service>/<method>`. A method without an entry is closed. */
  readonly access: ReadonlyMap<string, Access>;
  readonly log: Logger;
}

const bearerTimeoutMs = 1_000;
const callerSlot = 'tessera.caller';

/** The caller that passed the check. Handlers trust this alone, not what the call says about itself. */
export function checkedCaller(metadata: Metadata): Pick<CallContext, 'caller' | 'principal'> {
  const checked = metadata.getOpaque(callerSlot) as AuthenticatedCaller | undefined;
  if (checked?.caller === undefined) throw new Error('call without a caller');
  return { caller: checked.caller, principal: checked.principal };
}

/**
 * The caller check of a server as an interceptor, and the streams that passed it. It authenticates every call by its metadata and
 * certificate before a handler gets the message.
 */
export function createCallerCheck({ credentials, access, log }: CallerCheckOptions) {
  const identify = authenticationBy(credentials);
  const warnings = limitRepeats(log);
  const streams = new Set<ServerInterceptingCallInterface>();
  let ending = false;
  const interceptor: ServerInterceptor = ({ path, requestStream, responseStream }, call) => {
    const entry = access.get(path);
    const authenticate = async (metadata: Metadata): Promise<AuthenticatedCaller | undefined> => {
      const caller = identify(metadata, call);
      const token = caller?.bySharedToken === true ? undefined : presentedToken(metadata);
      if (entry?.bearer === undefined || token === undefined) return caller;
      const requestId = requestIdIn(metadata) ?? 'bearer';
      return entry.bearer(token, rootCall(requestId, bearerTimeoutMs));
    };
    const turnAway = (refusal: StatusObject, metadata: Metadata, caller?: CallerName): void => {
      const peer = call.getPeer();
      const about = {
        method: path,
        caller,
        peer,
        requestId: requestIdIn(metadata),
        details: refusal.details,
      };
      // The path of a method that does not exist is any text.
      const cause = [entry === undefined ? '' : path, refusal.code, caller ?? ''].join(' ');
      warnings.warn(cause, about, 'call refused');
      call.sendStatus(refusal);
    };
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, forward) => {
            if (requestStream || responseStream) streams.add(call);
            authenticate(metadata).then(
              (caller) => {
                const help = identityHelp(credentials, entry?.bearer !== undefined);
                const refusal = checkCaller(caller, entry, path.slice(1), help);
                if (refusal !== undefined) return turnAway(toStatus(refusal), metadata, caller?.caller);
                if (ending && streams.has(call)) return call.sendStatus(shuttingDown);
                metadata.setOpaque(callerSlot, caller);
                forward(metadata);
              },
              (error: unknown) => turnAway(statusOfBearer(error, log), metadata),
            );
          },
          onCancel: () => void streams.delete(call),
        }),
    });
  };
  /** Ends every stream, now and later: its consumer reconnects to another replica. */
  const endStreams = (): void => {
    ending = true;
    for (const call of streams) call.sendStatus(shuttingDown);
  };
  return { interceptor, endStreams };
}

const shuttingDown = toStatus(new ConnectError('the server is shutting down', Code.Unavailable));

/** The request id of a call, if it has one that may be used. */
export function requestIdIn(metadata: Metadata): string | undefined {
  return acceptableRequestId(metadata.get(requestIdKey)[0]);
}

function statusOfBearer(error: unknown, log: Logger): StatusObject {
  if (error instanceof OAuthError || error instanceof ConnectError) return toStatus(error);
  log.error({ error }, 'cannot verify an access token');
  return toStatus(new ConnectError('internal error', Code.Internal));
}
