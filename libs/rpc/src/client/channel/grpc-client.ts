/**
 * The gRPC client that the services and the introspection client share: one grpc-js channel for a service, typed by its
 * descriptor. Balancing, retries, keepalive and reconnecting are grpc-js', set in `channelOptions`. Others install
 * these files with the introspection client, so they import nothing else of ours.
 */
import { addAbortListener } from 'node:events';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { Client, status } from '@grpc/grpc-js';
import type {
  ChannelCredentials,
  ChannelOptions,
  Metadata,
  ServiceConfig,
  ServiceError,
} from '@grpc/grpc-js';
import { hostListScheme } from './host-list.ts';

export interface ChannelSettings {
  /** `host:port`, where the name may stand for several replicas; several of these with commas; or a gRPC target. */
  readonly target: string;
  readonly credentials: ChannelCredentials;
  /** The name that the certificate of the server is checked against; absent: the host of the target. */
  readonly serverName?: string | undefined;
  /** Milliseconds between two pings of a connection with calls, 6 s by default. Half of it is left for the answer. */
  readonly keepaliveMs?: number | undefined;
}

export interface OutgoingCall {
  readonly metadata: Metadata;
  /** Milliseconds since the Unix epoch, or Infinity. */
  readonly deadline: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Calls to one service. Failures are a `ServiceError` of grpc-js; one of the transport has the code UNAVAILABLE. A
 * closed client throws an Error without a code.
 */
export interface GrpcClient {
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    call: OutgoingCall,
  ): Promise<MessageShape<O>>;
  /** Messages as they are consumed; leaving the loop cancels the call. */
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    call: OutgoingCall,
  ): AsyncGenerator<MessageShape<O>, void>;
  /**
   * Resolves once the peer has answered: its server takes calls, and the channel is connected to it. Waits for it as
   * long as the deadline allows.
   */
  answer(call: Pick<OutgoingCall, 'metadata' | 'deadline'>): Promise<void>;
  close(): void;
}

/** Connects when it is first used, and again by itself. */
export function openGrpcClient(service: DescService, settings: ChannelSettings): GrpcClient {
  const client = new Client(
    grpcTarget(settings.target),
    settings.credentials,
    channelOptions(service, settings),
  );
  return {
    unary: async (method, request, { metadata, deadline, signal }) => {
      const parts = requestOf(method, request);
      const send = () => {
        let cancelling: Disposable | undefined;
        const response = new Promise<MessageShape<typeof method.output>>((resolve, reject) => {
          const call = client.makeUnaryRequest(...parts, metadata, { deadline }, (error, message) => {
            if (message !== undefined && error === null) resolve(message);
            else reject(unavailableIfCut(error ?? new Error('the call ended without a response'), signal));
          });
          cancelling = cancelWith(signal, call);
        });
        return response.finally(() => cancelling?.[Symbol.dispose]());
      };
      // grpc-js retries nothing once a response has begun. If its peer dies then, a read may be sent again.
      return send().catch((error: Partial<ServiceError>) => {
        if (!isRead(method) || error.details !== connectionDropped || signal?.aborted === true) throw error;
        return send();
      });
    },
    stream: async function* stream(method, request, { metadata, deadline, signal }) {
      const call = client.makeServerStreamRequest(...requestOf(method, request), metadata, { deadline });
      // Errors surface in the loop below; ignore any emitted after it ends.
      call.on('error', () => {});
      const cancelling = cancelWith(signal, call);
      try {
        for await (const message of call) yield message as MessageShape<typeof method.output>;
      } catch (error) {
        throw unavailableIfCut(error as Error, signal);
      } finally {
        cancelling?.[Symbol.dispose]();
        call.cancel();
      }
    },
    answer: ({ metadata, deadline }) => {
      metadata.setOptions({ waitForReady: true });
      return new Promise((resolve, reject) => {
        const bytes = (value: Buffer): Buffer => value;
        client.makeUnaryRequest(healthCheck, bytes, bytes, wholeServer, metadata, { deadline }, (error) => {
          if (error === null) resolve();
          else reject(unavailableIfCut(error, undefined));
        });
      });
    },
    close: () => client.close(),
  };
}

/** Every peer of ours serves it to every caller. */
const healthCheck = '/grpc.health.v1.Health/Check';
/** A HealthCheckRequest without the name of a service. */
const wholeServer = Buffer.alloc(0);

/** A target as grpc-js reads it: DNS by default, so that every address of a name is used. */
export function grpcTarget(target: string): string {
  if (/^(unix|ipv4|ipv6):/.test(target)) return target;
  if (target.includes(',')) return `${hostListScheme}:${target.replace(/^dns:(\/\/\/)?/, '')}`;
  return target.startsWith('dns:') ? target : `dns:///${target}`;
}

/** Largest message taken or sent, in bytes. */
const maxMessageBytes = 4 * 1024 * 1024;

function channelOptions(service: DescService, settings: ChannelSettings): ChannelOptions {
  const { serverName, keepaliveMs = 6_000 } = settings;
  return {
    'grpc.service_config': JSON.stringify(serviceConfig(service)),
    // The deployment sets the names; a TXT record must not bring another configuration.
    'grpc.service_config_disable_resolution': 1,
    // A replica that vanished fails its calls at their deadlines, until a ping stays without an answer. Much shorter
    // intervals cost calls that run: grpc-js ends them if a ping is due after the server asked the connection to leave
    // (grpc-node #3068).
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.keepalive_timeout_ms': keepaliveMs / 2,
    'grpc.initial_reconnect_backoff_ms': 100,
    // A peer that has come up is tried again soon: until then its calls fail.
    'grpc.max_reconnect_backoff_ms': 500,
    // Servers end connections by age, so that names are looked up again and new replicas are found.
    'grpc.dns_min_time_between_resolutions_ms': 2_000,
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': maxMessageBytes,
    'grpc.enable_channelz': 0,
    // A proxy that the environment names for the outside is not for these calls.
    'grpc.enable_http_proxy': 0,
    'grpc.use_local_subchannel_pool': 1,
    ...(serverName !== undefined && { 'grpc.ssl_target_name_override': serverName }),
  };
}

/**
 * Calls go round all replicas, without those that fail far more often than the others. Methods that only read are
 * retried.
 */
function serviceConfig(service: DescService): ServiceConfig {
  const reads = service.methods.filter(isRead);
  return {
    loadBalancingConfig: [
      {
        outlier_detection: {
          interval: { seconds: 10, nanos: 0 },
          base_ejection_time: { seconds: 30, nanos: 0 },
          max_ejection_percent: 50,
          // Relative to the other replicas only: a refused grant counts as a failed call, and a wave of bad requests
          // must not eject replicas that answer it correctly.
          success_rate_ejection: {
            stdev_factor: 1900,
            enforcement_percentage: 100,
            minimum_hosts: 3,
            request_volume: 50,
          },
          child_policy: [{ round_robin: {} }],
        },
      },
    ],
    methodConfig: reads.map(({ name }) => ({
      name: [{ service: service.typeName, method: name }],
      retryPolicy: {
        maxAttempts: 3,
        initialBackoff: '0.025s',
        maxBackoff: '1s',
        backoffMultiplier: 2,
        retryableStatusCodes: [status.UNAVAILABLE],
      },
    })),
    // Stops retries while more than half of the tokens are used up: a failure takes one, a success gives one back.
    // grpc-js keeps them for each target in the process, so that a slower return would leave later clients without
    // retries after an outage.
    retryThrottling: { maxTokens: 1_000, tokenRatio: 1 },
  };
}

function isRead({ idempotency }: Pick<DescMethodUnary, 'idempotency'>): boolean {
  return idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

/** How grpc-js describes a call whose connection was lost. */
export const connectionDropped = 'Connection dropped';

/** How grpc-js describes an HTTP/2 stream that ended without a gRPC status: cut, or answered by a proxy in between. */
export const transportFailure =
  /^(?:Received RST_STREAM|Received HTTP status code|Bandwidth exhausted|Protocol not secure)/;

/**
 * What the connection or the server cut short is not the fault of the request, whatever code grpc-js derives from
 * HTTP/2.
 */
function unavailableIfCut(error: Error, signal: AbortSignal | undefined): Error {
  const { code, details = '' } = error as Partial<ServiceError>;
  const byPeer = code === status.CANCELLED && signal?.aborted !== true;
  return byPeer || transportFailure.test(details)
    ? Object.assign(error, { code: status.UNAVAILABLE })
    : error;
}

/** Cancels the call when the signal is aborted, until what it returns is disposed of. */
function cancelWith(signal: AbortSignal | undefined, call: { cancel(): void }): Disposable | undefined {
  return signal && addAbortListener(signal, () => call.cancel());
}

/** The first arguments of a request of grpc-js: path, serializer, deserializer and message. */
function requestOf<I extends DescMessage, O extends DescMessage>(
  { parent, name, input, output }: DescMethodUnary<I, O> | DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
) {
  return [
    `/${parent.typeName}/${name}`,
    (message: Message) => encodeMessage(input, message),
    (bytes: Buffer) => decodeMessage(output, bytes),
    create(input, request) as Message,
  ] as const;
}

/** The bytes of a message, as the Buffer that grpc-js takes. */
export function encodeMessage(schema: DescMessage, message: Message): Buffer {
  const bytes = toBinary(schema, message);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The message of these bytes. Read through a plain view, so that its byte fields are Uint8Arrays and not Buffers. */
export function decodeMessage<S extends DescMessage>(schema: S, bytes: Buffer): MessageShape<S> {
  return fromBinary(schema, new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}
