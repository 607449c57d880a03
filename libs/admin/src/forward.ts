import type { Message } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { outcomeUnknown } from '@tessera/oauth';
import {
  declaredAccess,
  isUnanswered,
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
import { requiringEveryTenant } from './access/for-operators.ts';
import { carrying, type Guarded } from './access/who-may-give.ts';
import { requestCheck } from './rules/request-rules.ts';

type Fields = Readonly<Record<string, unknown>>;
type Send = (request: Fields, call: CallOptions) => Promise<Fields>;

interface Forwarding<S extends DescService> extends Pick<
  Guarded,
  'attributesInClaims' | 'assignablesOf' | 'issuerOf' | 'describePlan'
> {
  readonly bearer: AuthenticateBearer;
  /** Reads a record before a change, for the rules about who may change it; the owner of the records if absent. */
  readonly reader?: Client<S>;
}

/**
 * Serves the methods that access tokens open, by calling the service that owns the records, with the same messages.
 * @param owner of the records; called as `admin`
 */
export function forwarding<S extends DescService>(
  service: S,
  owner: Client<S>,
  { bearer, reader = owner, ...looks }: Forwarding<S>,
): Route {
  const sendOf = (localName: string, client = owner): Send => {
    const send = (client as unknown as Readonly<Record<string, Send>>)[localName];
    if (send === undefined) throw new Error(`${service.typeName} has no method ${localName}`);
    return send;
  };
  const methods = service.methods.filter((method) => declaredAccess(method).scopes.length > 0);
  const reads = methods.some(({ localName }) => localName === 'get');
  const read = reads ? sendOf('get', reader) : undefined;
  const handlers = methods.map((method) => {
    if (method.methodKind !== 'unary') throw new Error(`${service.typeName}/${method.name} streams`);
    const send = sayingUnknown(method, sendOf(method.localName));
    return [method.localName, handlerOf(method, { send, read, ...looks })] as const;
  });
  return { service: { ...service, methods }, handlers: Object.fromEntries(handlers), bearer };
}

/** Who asked for a change learns whether it may have been made although its owner did not say so. */
function sayingUnknown(method: DescMethod, send: Send): Send {
  if (method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return send;
  return async (request, call) => {
    try {
      return await send(request, call);
    } catch (error) {
      throw isUnanswered(error) ? outcomeUnknown(error) : error;
    }
  };
}

function handlerOf(method: DescMethod, guarded: Guarded) {
  const { send } = guarded;
  const isOfOneTenant = declaredAccess(method).tenantField !== undefined;
  const requireEveryTenant = isOfOneTenant ? undefined : requiringEveryTenant(method);
  const carry = carrying(method, guarded);
  const check = requestCheck(method);
  return async (request: Fields, context: CallContext): Promise<Fields> => {
    const { principal } = context;
    const call = () => onBehalfOf(context.onward(), actorOf(context));
    // Who proves itself by a certificate, or by the credential of the process, operates the installation.
    const administrator = principal?.kind === 'certificate' ? undefined : principal;
    if (administrator !== undefined) requireEveryTenant?.(administrator);
    await check?.(request as Message & Fields);
    return administrator === undefined ? send(request, call()) : carry(request, administrator, call);
  };
}

function actorOf({ principal, caller }: CallContext): Actor {
  if (principal === undefined || principal.kind === 'certificate')
    return { type: 'operator', tenantId: '', id: caller };
  return { type: principal.kind, tenantId: principal.tenantId ?? '', id: principal.id };
}
