import type { DescMethod, Message } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { OAuthError } from '@tessera/oauth';
import type { AuthenticateBearer, CallContext, CallerName, Principal, Route } from '../call.ts';
import { declaredAccess, type DeclaredAccess } from './declared-access.ts';

/** A caller that is authenticated, and its name if it has one. */
export interface AuthenticatedCaller {
  readonly caller: CallerName | undefined;
  readonly principal?: Principal | undefined;
  /** The authorization of the call holds the shared token, so it is not an access token. */
  readonly bySharedToken?: boolean;
  /** What its access token grants; absent for a caller that proved itself otherwise. */
  readonly scopes?: readonly string[];
  readonly remedy?: (scopes: readonly string[]) => string;
}

/** Who may call a method. */
export interface Access extends Pick<DeclaredAccess, 'scopes'> {
  readonly callers: readonly CallerName[] | 'authenticated';
  readonly bearer?: AuthenticateBearer | undefined;
}

/** What a caller without an identity is told to send. */
export interface IdentityHelp {
  readonly unauthenticated: string;
  readonly unnamed: string;
}

/** @throws Error for a method that does not declare who may call it */
export function accessTo(route: Route, method: DescMethod): Access {
  const { callers, scopes } = declaredAccess(method);
  return { callers, scopes, bearer: route.bearer };
}

/**
 * To the description of services and their health: who may call any of their methods by an access token may read it
 * too.
 */
export function accessToDescription(routes: readonly Route[]): Access {
  const methods = routes.flatMap((route) => route.service.methods.map((method) => accessTo(route, method)));
  const bearer = routes.find((route) => route.bearer !== undefined)?.bearer;
  const scopes = [...new Set(methods.flatMap((each) => each.scopes))];
  return { callers: 'authenticated', scopes, bearer };
}

/**
 * The check of the caller, for calls over the wire and in process: the error that refuses the call, undefined if the
 * caller may call.
 * @param access undefined for a method that does not exist
 * @param method for the message: `<service>/<method>`
 * @param help for callers over the wire
 */
export function checkCaller(
  authenticated: AuthenticatedCaller | undefined,
  access: Access | undefined,
  method: string,
  help?: IdentityHelp,
): ConnectError | OAuthError | undefined {
  if (authenticated === undefined) {
    return noIdentity('the caller is not authenticated', help?.unauthenticated);
  }
  const { caller, scopes: held } = authenticated;
  if (access !== undefined && held !== undefined && access.scopes.length > 0) {
    const isOpened = access.scopes.some((scope) => held.includes(scope));
    return isOpened ? undefined : insufficientScope(access, authenticated);
  }
  if (access?.callers === 'authenticated' && held === undefined) return undefined;
  if (caller === undefined) return noIdentity('the caller has no name', help?.unnamed);
  if (held === undefined && access?.callers.includes(caller) === true) return undefined;
  return new ConnectError(`${caller} may not call ${method}`, Code.PermissionDenied);
}

function insufficientScope({ scopes }: Access, { remedy }: AuthenticatedCaller): OAuthError {
  const message = `The access token does not have the scope ${scopes.join(' or ')}.`;
  return new OAuthError(
    'insufficient_scope',
    remedy === undefined ? message : `${message} ${remedy(scopes)}`,
  );
}

/** Refuses a request for a tenant that the access token of its caller does not reach. */
export type CheckTenant = (request: Message, context: Pick<CallContext, 'principal'>) => void;

/** The check of a method's requests; undefined where its declaration names no field. */
export function tenantCheck(method: DescMethod): CheckTenant | undefined {
  const { tenantField } = declaredAccess(method);
  if (tenantField === undefined) return undefined;
  return (request, { principal }) => {
    if (principal === undefined || principal.kind === 'certificate' || principal.everyTenant === true) return;
    const named = (request as unknown as Readonly<Record<string, unknown>>)[tenantField];
    const { tenantId } = principal;
    if (tenantId !== undefined && named === tenantId) return;
    const remedy =
      tenantId === undefined
        ? 'it is for none'
        : `name ${tenantId} in ${tenantField}, or use one that reaches others`;
    throw new ConnectError(`the access token is for another tenant: ${remedy}`, Code.PermissionDenied);
  };
}

function noIdentity(what: string, help: string | undefined): ConnectError {
  return new ConnectError(help === undefined ? what : `${what}: ${help}`, Code.Unauthenticated);
}
