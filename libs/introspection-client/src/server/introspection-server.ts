import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import { IntrospectionService } from '@tessera/proto-gen/token';
import { openGrpcClient } from '@tessera/rpc/client';
import { channelCredentialsOf, proofOf } from './call-proof.ts';
import { errorOf, type IntrospectionError } from '../introspection-error.ts';
import type { IntrospectorCredentials, Metrics } from '../introspector-types.ts';

/** Calls to the introspection service, to any replica. Failures are an `IntrospectionError`. */
export interface IntrospectionServer {
  /** One unary call, with another access token if the first one was not accepted. `tokens` is for the metrics. */
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    tokens: number,
  ): Promise<MessageShape<O>>;
  /** A server stream, opened once. Ends with the signal or with an error. */
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    refused: boolean,
    signal: AbortSignal,
  ): AsyncGenerator<MessageShape<O>, void>;
  close(): void;
}

/** @param timeoutMs longest time of a call, in milliseconds */
export function openIntrospectionServer(
  target: string,
  credentials: IntrospectorCredentials,
  timeoutMs: number,
  metrics: Metrics,
): IntrospectionServer {
  const grpc = openGrpcClient(IntrospectionService, {
    target,
    credentials: channelCredentialsOf(credentials),
    serverName: credentials.tls?.serverName,
  });
  return {
    call: async (method, request, tokens) => {
      const started = performance.now();
      const deadline = Date.now() + timeoutMs;
      const done = (code: string) =>
        metrics.onCall?.({ tokens, milliseconds: performance.now() - started, code });
      const attempt = async (refused: boolean) => {
        try {
          return await grpc.unary(method, request, {
            metadata: await proofOf(credentials, refused),
            deadline,
          });
        } catch (error) {
          throw errorOf(error);
        }
      };
      try {
        const response = await attempt(false).catch((error: IntrospectionError) => {
          const renewable = error.code === 'unauthenticated' && credentials.accessToken !== undefined;
          if (!renewable) throw error;
          return attempt(true);
        });
        done('ok');
        return response;
      } catch (error) {
        done((error as IntrospectionError).code);
        throw error;
      }
    },
    stream: async function* stream(method, request, refused, signal) {
      try {
        const metadata = await proofOf(credentials, refused);
        yield* grpc.stream(method, request, { metadata, deadline: Infinity, signal });
      } catch (error) {
        throw errorOf(error);
      }
    },
    close: () => grpc.close(),
  };
}
