import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import type { DescMethod, DescMethodServerStreaming, DescMethodUnary, DescService } from '@bufbuild/protobuf';
import type { CallOptions, Client } from '@connectrpc/connect';
import { credentials as channelCredentials, experimental, Metadata, status } from '@grpc/grpc-js';
import type { ChannelCredentials, ServiceError } from '@grpc/grpc-js';
import { temporarilyUnavailable } from '@tessera/oauth';
import { currentTraceparent, methodName, traceparentKey } from '@tessera/telemetry';
import { pino, type Logger } from 'pino';
import { actorKey } from '../actor.ts';
import { bearerAuthorization } from '../access/authenticate-caller.ts';
import { cancelled, deadlineOf, headersOf, requestIdKey, requestIdOf } from '../call-options.ts';
import { traceCalling } from '../call-traces.ts';
import type { CallerName } from '../call.ts';
import { watchCertificates } from './channel/certificates.ts';
import { openGrpcClient, type GrpcClient, type OutgoingCall } from './channel/grpc-client.ts';
import { authorizationKey, callerKey, isLoopback, warnNotReloaded } from '../credentials.ts';
import type { RpcCredentials } from '../credentials.ts';
import { fromStatus } from '../errors/error-status.ts';
import { certifiedName } from '../access/caller-of-certificate.ts';
import { parseTarget } from './target.ts';
import { typedClient, type StreamingCall, type UnaryCall } from '../typed-client.ts';

export interface RemoteOptions {
  /** `host:port`, where the host may stand for several replicas; or several of them, as `parseTarget` reads them. */
  readonly target: string;
  /** The service on whose behalf calls are made; under `mtls` the certificate says it. */
  readonly as: CallerName;
  readonly credentials: RpcCredentials;
  /** Under `mtls`: whose certificate is accepted. Without it, one that is valid for the host of the target. */
  readonly peer?: CallerName;
  /** Time-out of unary calls that are given none, in milliseconds; 2 s by default. */
  readonly defaultTimeoutMs?: number;
  /** Milliseconds between two pings of a connection with calls; 6 s by default. */
  readonly keepaliveMs?: number;
  readonly log?: Logger;
}

/** One service in other processes, with all its replicas. */
export interface RemoteService {
  /**
   * A typed client. Unary calls always have a deadline; streams have one only if it is given. Of the call options
   * `timeoutMs`, `signal`, the request id and the actor travel; response headers are not offered.
   */
  client<S extends DescService>(service: S): Client<S>;
  /**
   * Resolves once the peer has answered at the channel of each client that was made. Rejects if it does not within a
   * second, or refuses this caller.
   */
  answered(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects lazily; while the service is unavailable, calls fail with `temporarily_unavailable`. A stream waits for a
 * service that has not answered yet: processes start in any order.
 * @throws Error if the certificates are not usable, or the target is not an address
 */
export function openRemoteService(options: RemoteOptions): RemoteService {
  const { target, defaultTimeoutMs = 2_000, keepaliveMs } = options;
  const settings = {
    target,
    credentials: channelCredentialsOf(options),
    serverName: serverNameOf(options),
    keepaliveMs,
  };
  const channels = new Map<DescService, Channel>();
  let closed = false;
  const channelTo = (service: DescService): Channel => {
    const channel =
      channels.get(service) ?? openChannel(openGrpcClient(service, settings), () => metadataOf(options));
    channels.set(service, channel);
    return channel;
  };
  const outgoing = (path: string, callOptions: CallOptions | undefined, timeoutMs?: number): OutgoingCall => {
    if (callOptions?.signal?.aborted === true) throw cancelled();
    if (closed) throw temporarilyUnavailable(new Error(`${path}: the client was closed`));
    const deadline = deadlineOf(callOptions, timeoutMs);
    return { metadata: metadataOf(options, callOptions), deadline, signal: callOptions?.signal };
  };
  const unary = (method: DescMethod): UnaryCall => {
    const path = methodName(method);
    const { grpc } = channelTo(method.parent);
    return async (init, callOptions) => {
      const call = outgoing(path, callOptions, defaultTimeoutMs);
      try {
        return await grpc.unary(method as DescMethodUnary, init, call);
      } catch (error) {
        throw failure(error, path, call.signal);
      }
    };
  };
  const stream = (method: DescMethod): StreamingCall => {
    const path = methodName(method);
    const channel = channelTo(method.parent);
    return async function* messages(init, callOptions) {
      const call = outgoing(path, callOptions);
      call.metadata.setOptions({ waitForReady: !channel.hasAnswered() });
      try {
        const messages = channel.grpc.stream(method as DescMethodServerStreaming, init, call);
        for await (const message of messages) {
          channel.heard();
          yield message;
        }
      } catch (error) {
        throw failure(error, path, call.signal);
      }
    };
  };
  return {
    client: (service) =>
      typedClient(service, { unary: (method) => traceCalling(method, unary(method)), stream }),
    answered: async () => {
      await Promise.all([...channels.values()].map(async ({ answered }) => answered()));
    },
    close: async () => {
      closed = true;
      for (const { grpc } of channels.values()) grpc.close();
    },
  };
}

interface Channel {
  readonly grpc: GrpcClient;
  hasAnswered(): boolean;
  /** A message has come. */
  heard(): void;
  answered(): Promise<void>;
}

/** How long one attempt waits for a peer to come up. */
const attemptMs = 800;

function openChannel(grpc: GrpcClient, metadata: () => Metadata): Channel {
  let hasAnswered = false;
  let asking: Promise<void> | undefined;
  const ask = async (): Promise<void> => {
    try {
      await grpc.answer({ metadata: metadata(), deadline: Date.now() + attemptMs });
      hasAnswered = true;
    } catch (error) {
      throw failure(error, 'grpc.health.v1.Health/Check', undefined);
    } finally {
      asking = undefined;
    }
  };
  return {
    grpc,
    hasAnswered: () => hasAnswered,
    heard: () => {
      hasAnswered = true;
    },
    answered: async () => {
      if (!hasAnswered) await (asking ??= ask());
    },
  };
}

function channelCredentialsOf({ peer, as, credentials, log }: RemoteOptions): ChannelCredentials {
  if (credentials.kind !== 'mtls') return channelCredentials.createInsecure();
  const { trustDomain } = credentials;
  const logger = log ?? pino({ name: as });
  const files = watchCertificates(credentials, (error) => warnNotReloaded(logger, credentials, error));
  return experimental.createCertificateProviderChannelCredentials(files, files, {
    checkServerIdentity: (host, certificate) => {
      if (peer === undefined) return checkServerIdentity(host, certificate);
      if (certifiedName(certificate.subjectaltname, trustDomain)?.caller === peer) return undefined;
      return new Error(`the certificate of ${host} is not that of ${peer}`);
    },
  });
}

/** TLS asks for servers by name only (RFC 6066 §3); an address is asked for by the name of the service. */
function serverNameOf({ target, peer, credentials }: RemoteOptions): string | undefined {
  const hosts = parseTarget(target).map(({ host }) => host);
  if (credentials.kind !== 'mtls') return undefined;
  if (peer !== undefined) return hosts.some((host) => isIP(host) !== 0) ? peer : undefined;
  if (hosts.some((host) => isIP(host) !== 0 && !isLoopback(host))) {
    throw new Error(`mutual TLS to ${target} needs the name of the peer`);
  }
  return hosts.some((host) => isIP(host) !== 0) ? 'localhost' : undefined;
}

/** Who calls, for which request, in which trace. Under mTLS the certificate says who calls. */
function metadataOf({ as, credentials }: RemoteOptions, callOptions?: CallOptions): Metadata {
  const metadata = new Metadata();
  if (credentials.kind !== 'mtls') metadata.set(callerKey, as);
  if (credentials.kind === 'token') metadata.set(authorizationKey, bearerAuthorization(credentials.token));
  const requestId = requestIdOf(callOptions);
  if (requestId !== undefined) metadata.set(requestIdKey, requestId);
  const actor = headersOf(callOptions)[actorKey];
  if (actor !== undefined) metadata.set(actorKey, actor);
  const traceparent = currentTraceparent();
  if (traceparent !== undefined) metadata.set(traceparentKey, traceparent);
  return metadata;
}

function failure(error: unknown, path: string, signal: AbortSignal | undefined): Error {
  const { code, details = '', metadata = new Metadata() } = error as Partial<ServiceError>;
  // grpc-js throws an error without a status if the channel was closed.
  if (code === undefined) return temporarilyUnavailable(error);
  if (code === status.CANCELLED && signal?.aborted === true) return cancelled();
  return fromStatus({ code, details, metadata }, path);
}
