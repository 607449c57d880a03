import type { DescMethod } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { AuthenticateBearer, CallerName, Principal, Route } from '../call.ts';

/** A caller that is authenticated, and its name if it has one. */
export interface AuthenticatedCaller {
  readonly caller: CallerName | undefined;
  readonly principal?: Principal | undefined;
  /** The authorization of the call holds the shared token, so it is not an access token. */
  readonly bySharedToken?: boolean;
}

/** Who may call a method. */
export interface Access {
  readonly callers: readonly CallerName[] | 'authenticated';
  readonly bearer?: AuthenticateBearer | undefined;
}

/** What a caller without an identity is told to send. */
export interface IdentityHelp {
  readonly unauthenticated: string;
  readonly unnamed: string;
}

/** The allow-list of a method. A method without one is closed. */
export function accessTo(route: Route, method: DescMethod): Access {
  return { callers: route.allow[method.localName] ?? [], bearer: route.bearer };
}

/**
 * The check of the caller, for calls over the wire and in process: the error that refuses the call, undefined if the caller may call.
 * @param method for the message: `<service>/<method>`
 * @param help for callers over the wire
 */
export function checkCaller(
  authenticated: AuthenticatedCaller | undefined,
  access: Access | undefined,
  method: string,
  help?: IdentityHelp,
): ConnectError | undefined {
  if (authenticated === undefined) {
    return noIdentity('the caller is not authenticated', help?.unauthenticated);
  }
  if (access?.callers === 'authenticated') return undefined;
  const { caller } = authenticated;
  if (caller === undefined) return noIdentity('the caller has no name', help?.unnamed);
  if (access?.callers.includes(caller) === true) return undefined;
  return new ConnectError(`${caller} may not call ${method}`, Code.PermissionDenied);
}

function noIdentity(what: string, help: string | undefined): ConnectError {
  return new ConnectError(help === undefined ? what : `${what}: ${help}`, Code.Unauthenticated);
}
