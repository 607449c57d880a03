import { Code } from '@connectrpc/connect';
import type { ConnectError } from '@connectrpc/connect';
import type {
  handleBidiStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  MethodDefinition,
  ServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { EventEmitter } from 'node:events';
import type { ServedMethod } from './gate.ts';
import type { OpenStream, OpenStreams } from './open-streams.ts';
import type { WireCall } from './wire-call.ts';
import { toStatus } from './wire-errors.ts';

type Definition = MethodDefinition<unknown, unknown>;
type Respond = Parameters<handleUnaryCall<unknown, unknown>>[1];

/**
 * What a library adds to a server of grpc-js, served here; open to every peer that proved it belongs here.
 * @param open holds its streams while they are answered
 */
export function libraryMethods(
  service: ServiceDefinition,
  implementation: UntypedServiceImplementation,
  open: OpenStreams,
): ServedMethod[] {
  return Object.entries(service).map(([name, definition]) => {
    const handler = implementation[definition.originalName ?? name] ?? implementation[name];
    if (handler === undefined) throw new Error(`${definition.path} has no handler`);
    const serve = (call: WireCall): void => {
      const incoming = new LibraryCall(call, definition);
      call.onGone(() => incoming.emit('cancelled'));
      if (definition.requestStream || definition.responseStream) {
        call.outgoing.once('close', () => open.delete(incoming));
        open.add(incoming);
        if (call.ended) return;
      }
      if (definition.requestStream) {
        (handler as handleBidiStreamingCall<unknown, unknown>)(incoming as never);
        void incoming.readAll();
      } else if (definition.responseStream) {
        incoming.read(() => (handler as handleServerStreamingCall<unknown, unknown>)(incoming as never));
      } else {
        const unary = handler as handleUnaryCall<unknown, unknown>;
        incoming.read(() => unary(incoming as never, incoming.respond));
      }
    };
    return { path: definition.path, callers: 'authenticated', serve };
  });
}

/** As much of a call of grpc-js as the libraries for health and reflection use. */
class LibraryCall extends EventEmitter implements OpenStream {
  request: unknown;
  readonly #call: WireCall;
  readonly #definition: Definition;

  constructor(call: WireCall, definition: Definition) {
    super();
    this.#call = call;
    this.#definition = definition;
  }

  write(message: unknown): boolean {
    return this.#call.write(this.#definition.responseSerialize(message));
  }

  end(): void {
    this.#call.end();
  }

  /** Ends a stream before its handler does, which hears of it as when the peer gives up. */
  cancel(reason: ConnectError): void {
    this.#call.fail(toStatus(reason));
    this.emit('cancelled');
  }

  readonly respond: Respond = (error, value) => {
    if (error === null) return this.#call.answer(this.#definition.responseSerialize(value));
    // Both number them as gRPC does.
    const code: number = error.code ?? Code.Unknown;
    this.#call.fail({ code, details: error.details ?? 'unknown error' });
  };

  read(handle: () => void): void {
    this.#call.readMessage((bytes) => {
      if (!this.#parse(bytes)) return;
      handle();
    });
  }

  async readAll(): Promise<void> {
    try {
      for await (const bytes of this.#call.messages()) {
        if (!this.#parse(bytes)) return;
        this.emit('data', this.request);
      }
      this.emit('end');
    } catch {
      // The peer went away in the middle.
    }
  }

  #parse(bytes: Buffer): boolean {
    try {
      this.request = this.#definition.requestDeserialize(bytes);
      return true;
    } catch {
      this.#call.fail({ code: Code.InvalidArgument, details: 'the request message is malformed' });
      return false;
    }
  }
}
