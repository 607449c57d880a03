import { fromBinary, toBinary, type DescMethod, type DescService, type Message } from '@bufbuild/protobuf';
import type { ConnectRouter, MethodImpl } from '@connectrpc/connect';
import type { MethodDefinition } from '@grpc/grpc-js';
import { ServerReflection } from '@tessera/proto-gen/reflection';
import { ServerReflection as ServerReflectionAlpha } from '@tessera/proto-gen/reflection-alpha';
import { methodName } from '@tessera/telemetry';

type Definition = MethodDefinition<unknown, unknown>;

/** What the library calls of a stream. */
interface Exchange {
  on(event: string, listener: (request: unknown) => void): void;
  write(answer: unknown): void;
  end(): void;
}

type Answer = (request: Uint8Array) => Buffer;

const methods: readonly DescMethod[] = [ServerReflection, ServerReflectionAlpha].map(
  ({ method }) => method.serverReflectionInfo,
);

/**
 * Adds server reflection (`grpc.reflection.v1` and `v1alpha`) over the descriptors of these services, with the answers
 * of the library for grpc-js. Returns the paths of its methods.
 */
export function addReflection(router: ConnectRouter, services: readonly DescService[]): string[] {
  let answers: Promise<ReadonlyMap<string, Answer>> | undefined;
  return methods.map((described) => {
    const path = `/${methodName(described)}`;
    const { input, output } = described;
    const stream = async function* (requests: AsyncIterable<Message>): AsyncGenerator<Message, void> {
      answers ??= answersOf(services);
      const answer = (await answers).get(path);
      if (answer === undefined) throw new Error(`the library does not answer ${path}`);
      for await (const request of requests) yield fromBinary(output, answer(toBinary(input, request)));
    };
    router.rpc(described, stream as MethodImpl<DescMethod>);
    return path;
  });
}

/** By the path of the method. Loads the library, with protobufjs, which nothing else of this host needs. */
async function answersOf(services: readonly DescService[]): Promise<ReadonlyMap<string, Answer>> {
  const { reflectionOf } = await import('../reflection.ts');
  const answers = new Map<string, Answer>();
  reflectionOf(services).addToServer({
    addService(definition, implementation) {
      for (const [name, method] of Object.entries(definition) as [string, Definition][])
        answers.set(method.path, answering(method, implementation[name] as unknown as Serve));
    },
  });
  return answers;
}

type Serve = (stream: Exchange) => void;

/** The library answers each message of a stream at once. */
function answering({ requestDeserialize, responseSerialize }: Definition, serve: Serve): Answer {
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
