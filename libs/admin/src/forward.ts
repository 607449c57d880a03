import {
  Code,
  ConnectError,
  declaredAccess,
  onBehalfOf,
  type Actor,
  type AuthenticateBearer,
  type CallContext,
  type CallOptions,
  type Client,
  type DescMethod,
  type DescService,
  type Route,
} from '@tessera/rpc';
import { carrying } from './access/who-may-give.ts';

type Fields = Readonly<Record<string, unknown>>;
type Send = (request: Fields, call: CallOptions) => Promise<Fields>;

/**
 * Serves a service for administrators by calling whoever owns its records, with the same messages.
 * @param owner of the records; called as `admin`
 */
export function forwarding<S extends DescService>(
  service: S,
  owner: Client<S>,
  bearer: AuthenticateBearer,
): Route {
  const sends = owner as unknown as Readonly<Record<string, Send>>;
  const sendOf = (localName: string): Send => {
    const send = sends[localName];
    if (send === undefined) throw new Error(`${service.typeName} has no method ${localName}`);
    return send;
  };
  const reads = service.methods.some(({ localName }) => localName === 'get');
  const read = reads ? sendOf('get') : undefined;
  const handlers = service.methods.map((method) => {
    if (method.methodKind !== 'unary')
      throw new Error(`${service.typeName}/${method.name} is no unary method`);
    return [method.localName, handlerOf(method, sendOf(method.localName), read)] as const;
  });
  return { service, handlers: Object.fromEntries(handlers), bearer };
}

function handlerOf(method: DescMethod, send: Send, read: Send | undefined) {
  const isOfOneTenant = declaredAccess(method).tenantField !== undefined;
  const carry = carrying(method, { send, read });
  return async (request: Fields, context: CallContext): Promise<Fields> => {
    const { principal } = context;
    const call = () => onBehalfOf(context.onward(), actorOf(context));
    // Who proves itself by a certificate, or by the credential of the process, operates the installation.
    if (principal === undefined || principal.kind === 'certificate') return send(request, call());
    if (!isOfOneTenant && principal.everyTenant !== true)
      throw new ConnectError(
        `${method.parent.typeName}/${method.name} is for the whole installation: use an access token of the operator tenant (TESSERA_OPERATOR_TENANT)`,
        Code.PermissionDenied,
      );
    return carry(request, principal, call);
  };
}

function actorOf({ principal, caller }: CallContext): Actor {
  if (principal === undefined || principal.kind === 'certificate')
    return { type: 'operator', tenantId: '', id: caller };
  return { type: principal.kind, tenantId: principal.tenantId ?? '', id: principal.id };
}
