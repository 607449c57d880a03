import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { ConnectError, type Client } from '@connectrpc/connect';
import type { Secret } from '@tessera/kit';
import { methodName } from '@tessera/telemetry';
import type { Logger } from 'pino';
import { createAdmission } from '../../access/admission.ts';
import { accessTo, checkCaller } from '../../access/check-caller.ts';
import { deadlineOf, headersOf, requestIdOf, rootCall } from '../../call-options.ts';
import type { Route } from '../../call.ts';
import { authorizationKey } from '../../credentials.ts';
import { refuseFor, seenByCaller } from '../../errors/refusal.ts';
import { ServedCall } from '../../served-call.ts';
import { typedClient } from '../../typed-client.ts';
import { unaryInvocation } from '../invocation.ts';
import { servedUnary } from './local.ts';

export interface ByToken {
  /** Makes clients of services in this process that may do what an access token opens, and nothing else. */
  readonly clientOf: (accessToken: Secret, peer: string) => <S extends DescService>(service: S) => Client<S>;
  /** Which methods an access token opens now, by the checks of a call. Throws for one that counts no longer. */
  readonly openedBy: (accessToken: Secret) => Promise<(method: DescMethod) => boolean>;
}

const bearerTimeoutMs = 1_000;

/**
 * Calls the unary methods of routes in this process as somebody who presents an access token: with the checks, the
 * refusals and the lines in the log of a call over the wire.
 */
export function callingByToken(routes: readonly Route[], log: Logger): ByToken {
  const methods = routes.flatMap((route) => route.service.methods.map((method) => ({ route, method })));
  const access = new Map(
    methods.map(({ route, method }) => [`/${methodName(method)}`, accessTo(route, method)] as const),
  );
  const admit = createAdmission({ credentials: { kind: 'bearer' }, access, log });
  const invocations = new Map(
    methods.map(({ route, method }) => {
      const name = methodName(method);
      return [name, unaryInvocation(route, method, refuseFor(log, name))] as const;
    }),
  );

  const unary = (method: DescMethod, accessToken: Secret, peer: string) => {
    const name = methodName(method);
    const invoke = invocations.get(name);
    if (invoke === undefined) throw new Error(`${name} is not offered here`);
    const asSeen = (error: unknown) => (error instanceof ConnectError ? seenByCaller(error, name) : error);
    return async (init: Record<string, unknown>, options = {}) => {
      const headers = { ...headersOf(options), [authorizationKey]: `Bearer ${accessToken.reveal()}` };
      const header = (key: string) => (headers as Readonly<Record<string, string>>)[key] ?? '';
      const admitted = await admit({ path: `/${name}`, peer, header, certificate: () => undefined });
      const { caller, principal } = admitted;
      if (caller === undefined) throw new Error(`${name} is open to everybody`);
      const arrive = (_options: object, cancellable: boolean) =>
        new ServedCall({
          caller,
          principal,
          requestId: requestIdOf(options),
          deadline: deadlineOf(options),
          cancellable,
        });
      return servedUnary(method, invoke, { arrive, asSeen })(init, options);
    };
  };

  async function openedBy(accessToken: Secret) {
    const bearer = routes.find((route) => route.bearer !== undefined)?.bearer;
    const caller = await bearer?.(accessToken.reveal(), rootCall('opened', bearerTimeoutMs));
    return (method: DescMethod) => {
      const name = methodName(method);
      const entry = access.get(`/${name}`);
      return entry?.bearer === bearer && checkCaller(caller, entry, name) === undefined;
    };
  }

  const clientOf: ByToken['clientOf'] = (accessToken, peer) => (service) => {
    const offered = routes.find((route) => route.service.typeName === service.typeName);
    if (offered === undefined) throw new Error(`${service.typeName} is not offered here`);
    const client = typedClient(offered.service, {
      unary: (method) => unary(method, accessToken, peer),
      stream: (method) => {
        throw new Error(`${methodName(method)} streams`);
      },
    });
    return client as unknown as Client<typeof service>;
  };
  return { clientOf, openedBy };
}
