import { Code, ConnectError } from '@connectrpc/connect';
import { OAuthError } from '@tessera/oauth';
import { limitRepeats } from '@tessera/telemetry';
import type { Logger } from 'pino';
import { acceptableRequestId, requestIdKey, rootCall } from '../call-options.ts';
import type { RpcServerCredentials } from '../credentials.ts';
import type { PublicError } from '../errors/refusal.ts';
import { authenticationBy, identityHelp, presentedToken, type Presented } from './authenticate-caller.ts';
import { checkCaller, type Access, type AuthenticatedCaller } from './check-caller.ts';

export interface AdmissionDeps {
  readonly credentials: RpcServerCredentials;
  /** By path: `/<service>/<method>`. A method without an entry is closed. */
  readonly access: ReadonlyMap<string, Access>;
  readonly log: Logger;
}

/** A call over the wire whose message was not read yet. */
export interface ArrivingCall extends Presented {
  /** `/<service>/<method>` */
  readonly path: string;
  /** Address of the other side, for the log. */
  readonly peer: string;
}

/** Whose call it is; undefined for one to what is open to everyone who is authenticated. */
export type AdmittedCaller = Pick<AuthenticatedCaller, 'caller' | 'principal'>;

const bearerTimeoutMs = 1_000;

/**
 * The door of a server: authenticates the caller of each call and checks that the method is declared for it. What it
 * throws is the refusal as the caller may see it; the log has a line of each cause.
 */
export function createAdmission({ credentials, access, log }: AdmissionDeps) {
  const identify = authenticationBy(credentials);
  const warnings = limitRepeats(log);

  async function authenticate(call: ArrivingCall, entry: Access | undefined) {
    const caller = identify(call);
    const token = caller?.bySharedToken === true ? undefined : presentedToken(call);
    if (entry?.bearer === undefined || token === undefined) return caller;
    return entry.bearer(token, rootCall(requestIdIn(call) ?? 'bearer', bearerTimeoutMs));
  }

  function refusalOfBearer(error: unknown): PublicError {
    if (error instanceof OAuthError || error instanceof ConnectError) return error;
    log.error({ err: error }, 'cannot verify an access token');
    return new ConnectError('internal error', Code.Internal);
  }

  return async (call: ArrivingCall): Promise<AdmittedCaller> => {
    const { path, peer } = call;
    const entry = access.get(path);
    let caller: AuthenticatedCaller | undefined;
    let refusal: PublicError | undefined;
    try {
      caller = await authenticate(call, entry);
      refusal = checkCaller(
        caller,
        entry,
        path.slice(1),
        identityHelp(credentials, entry?.bearer !== undefined),
      );
    } catch (error) {
      refusal = refusalOfBearer(error);
    }
    if (refusal === undefined) return { caller: caller?.caller, principal: caller?.principal };
    const details = refusal instanceof ConnectError ? refusal.rawMessage : refusal.message;
    const about = { method: path, caller: caller?.caller, peer, requestId: requestIdIn(call), details };
    // The path of a method that does not exist is any text.
    const cause = [entry === undefined ? '' : path, refusal.code, caller?.caller ?? ''].join(' ');
    warnings.warn(cause, about, 'call refused');
    throw refusal;
  };
}

/** The request id of a call, if it has one that may be used. */
export function requestIdIn({ header }: Pick<Presented, 'header'>): string | undefined {
  return acceptableRequestId(header(requestIdKey));
}
