import { loadConfig, type Runtime } from '@tessera/process';
import { Code, ConnectError, type CallOptions, type DescService, type Handlers } from '@tessera/rpc';
import { fakeClient } from '@tessera/rpc/testing';
import { AccountService } from '@tessera/proto-gen/account';
import { AuthorizeService } from '@tessera/proto-gen/authorize';
import { BackchannelAuthenticationService, DeviceAuthorizationService } from '@tessera/proto-gen/device';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { KeysService } from '@tessera/proto-gen/keys';
import { IntrospectionService, TokenService } from '@tessera/proto-gen/token';
import { buildGateway, type GatewayOptions, type GatewayService } from '../wiring.ts';
import { gatewayConfig } from '../config.ts';
import type { GatewayPeers } from '../gateway.ts';

/** What the services behind the gateway do in a test; a call of a method without behaviour fails by its name. */
export type Behaviours = Partial<
  Handlers<typeof AccountService> &
    Handlers<typeof AuthorizeService> &
    Handlers<typeof BackchannelAuthenticationService> &
    Handlers<typeof DeviceAuthorizationService> &
    Handlers<typeof DirectoryService> &
    Handlers<typeof IntrospectionService> &
    Handlers<typeof KeysService> &
    Handlers<typeof TokenService>
>;

const services = [
  AccountService,
  AuthorizeService,
  BackchannelAuthenticationService,
  DeviceAuthorizationService,
  DirectoryService,
  IntrospectionService,
  KeysService,
  TokenService,
];

/** One behaviour for every method of these services. */
export function everyMethod(behaviour: () => never): Behaviours {
  const names = services.flatMap(({ methods }) => methods.map(({ localName }) => localName));
  return Object.fromEntries(names.map((name) => [name, behaviour]));
}

type MethodName = keyof Behaviours;
type RequestOf<K extends MethodName> = Parameters<NonNullable<Behaviours[K]>>[0];

/** A gateway whose peers are fakes called the way real ones are, and what they were asked. */
export interface TestGateway extends GatewayService {
  /** The requests a method got, in order. */
  requests<K extends MethodName>(method: K): RequestOf<K>[];
}

const publicKey = { kid: 'key-1', algorithm: 'RS256', members: { n: 'bW9kdWx1cw', e: 'AQAB' } };

export interface OpenOptions extends GatewayOptions {
  /** `none`: calls wait for as long as a busy machine takes, for tests of what else may happen meanwhile. */
  readonly deadlines?: 'none';
}

/** Builds a gateway from settings as the environment has them. */
export function openGateway(
  runtime: Runtime,
  behaviours: Behaviours = {},
  environment: Readonly<Record<string, string>> = {},
  { deadlines, ...options }: OpenOptions = {},
): TestGateway {
  const asked: { readonly method: string; readonly request: unknown }[] = [];
  const all: Behaviours = {
    getPublicKeys: () => ({ keys: [publicKey] }),
    listTenantIssuers: () => ({ issuers: [] }),
    watchChanges,
    getDeliveryModes: () => ({ modes: ['poll'] }),
    // Without an answer pages look as usual.
    getTenantLooks: () => {
      throw new ConnectError('gone', Code.Unavailable);
    },
    noteSessionEnd: () => ({}),
    ...behaviours,
  };
  const received = (method: string, request: unknown) => void asked.push({ method, request });
  const { log } = runtime;
  const fake = <S extends DescService>(service: S) =>
    requiringBounds(
      fakeClient(service, all as object as Partial<Handlers<S>>, { as: 'gateway', received, log }),
      deadlines,
    );
  const peers: GatewayPeers = {
    keys: fake(KeysService),
    directory: fake(DirectoryService),
    authorize: fake(AuthorizeService),
    account: fake(AccountService),
    token: fake(TokenService),
    introspection: fake(IntrospectionService),
    device: fake(DeviceAuthorizationService),
    backchannel: fake(BackchannelAuthenticationService),
  };
  const gateway = buildGateway(loadConfig(gatewayConfig, environment), peers, runtime, options);
  return {
    ...gateway,
    requests: <K extends MethodName>(method: K) =>
      asked.filter((call) => call.method === method).map((call) => call.request as RequestOf<K>),
  };
}

/** The page that asks for the password. */
export function passwordStep<I extends object>(interaction: I, problem = '') {
  return { next: { next: { case: 'step' as const, value: { name: 'password', interaction, problem } } } };
}

/** Says that nothing changes. */
async function* watchChanges(_request: unknown, { signal }: { signal: AbortSignal }) {
  yield { sequence: 1n };
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
}

/** What several requests share, so that the client of one of them does not cancel it. */
const shared: ReadonlySet<string> = new Set([
  'getPublicKeys',
  'getDeliveryModes',
  'getTenantLooks',
  'listTenantIssuers',
]);

/** Fails the test of whatever calls a service without a deadline, or for a request without the signal of its client. */
function requiringBounds<C extends object>(client: C, deadlines: OpenOptions['deadlines']): C {
  const methods = client as Record<string, (request: unknown, options?: CallOptions) => unknown>;
  for (const [name, method] of Object.entries(methods)) {
    methods[name] = (request, options) => {
      if (name !== 'watchChanges') {
        if (options?.timeoutMs === undefined) throw new Error(`${name} is called without a deadline`);
        if (options.signal === undefined && !shared.has(name))
          throw new Error(`${name} is called without the signal of the client`);
      }
      const { timeoutMs, ...unbounded } = options ?? {};
      return method(request, deadlines === 'none' || timeoutMs === undefined ? unbounded : options);
    };
  }
  return client;
}
