import { fromBinary, toBinary, type DescMethod, type DescService, type Message } from '@bufbuild/protobuf';
import type { ConnectRouter, MethodImpl } from '@connectrpc/connect';
import type { MethodDefinition } from '@grpc/grpc-js';
import { ServerReflection } from '@tessera/proto-gen/reflection';
import { ServerReflection as ServerReflectionAlpha } from '@tessera/proto-gen/reflection-alpha';
import { methodName } from '@tessera/telemetry';
import { reflectionOf } from '../reflection.ts';

type Definition = MethodDefinition<unknown, unknown>;

/** What the library calls of a stream. */
interface Exchange {
  on(event: string, listener: (request: unknown) => void): void;
  write(answer: unknown): void;
  end(): void;
}

/**
 * Adds server reflection (`grpc.reflection.v1` and `v1alpha`) over the descriptors of these services, with the answers of the library for
 * grpc-js. Returns the paths of its methods.
 */
export function addReflection(router: ConnectRouter, services: readonly DescService[]): string[] {
  const paths: string[] = [];
  reflectionOf(services).addToServer({
    addService(definition, implementation) {
      for (const [name, method] of Object.entries(definition) as [string, Definition][]) {
        const described = describe(method.path);
        const { input, output } = described;
        const answer = answering(method, implementation[name] as unknown as Serve);
        const stream = async function* (requests: AsyncIterable<Message>): AsyncGenerator<Message, void> {
          for await (const request of requests) yield fromBinary(output, answer(toBinary(input, request)));
        };
        router.rpc(described, stream as MethodImpl<DescMethod>);
        paths.push(method.path);
      }
    },
  });
  return paths;
}

function describe(path: string): DescMethod {
  const methods = [ServerReflection, ServerReflectionAlpha].map(({ method }) => method.serverReflectionInfo);
  const found = methods.find((method) => `/${methodName(method)}` === path);
  if (found === undefined) throw new Error(`there is no description of ${path}`);
  return found;
}

type Serve = (stream: Exchange) => void;

/** The library answers each message of a stream at once. */
function answering(
  { requestDeserialize, responseSerialize }: Definition,
  serve: Serve,
): (request: Uint8Array) => Buffer {
  return (request) => {
    let answer: unknown;
    serve({
      on(event, listener) {
        if (event === 'data') listener(requestDeserialize(Buffer.from(request)));
      },
      write: (written) => (answer = written),
      end: () => undefined,
    });
    return responseSerialize(answer);
  };
}
