import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  type Message,
  type MessageShape,
} from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import type { Logger } from '@tessera/telemetry';
import { silentLog } from '@tessera/test-kit';
import type { CallerName, Handlers } from '../call.ts';
import { local } from '../hosts/in-process/local.ts';
import { typedClient } from '../typed-client.ts';

export interface FakeOptions {
  /** Who calls; it must be declared for each method that is called. */
  readonly as: CallerName;
  /** Called with the name and the request of each call, answered or not. What it throws is the answer. */
  readonly received?: (method: string, request: unknown) => void;
  /** Where the serving side writes the causes it keeps back. */
  readonly log?: Logger;
}

/**
 * A client of a service whose methods come from its descriptor and whose answers come from a test. A call that has
 * no answer fails with an error that names the method. No service handles such an error, as it does that of a peer
 * which is unavailable or of another version.
 */
export function fakeClient<S extends DescService>(
  service: S,
  answers: Partial<Handlers<S>>,
  { as, received = () => undefined, log = silentLog() }: FakeOptions,
): Client<S> {
  const given = answers as object as Readonly<Record<string, unknown>>;
  const handlers: Record<string, unknown> = {};
  for (const { localName } of service.methods) {
    handlers[localName] = (request: unknown, context: unknown) => {
      received(localName, request);
      return (given[localName] as (request: unknown, context: unknown) => unknown)(request, context);
    };
  }
  const nothing = () => Promise.resolve();
  const built = { name: 'keys', routes: [{ service, handlers }], ready: nothing, close: nothing } as const;
  const client = local(service, built, as, log) as object as Record<string, unknown>;
  const unanswered = typedClient(service, {
    unary: (method) => async (request) => {
      received(method.localName, request);
      throw noAnswer(method);
    },
    stream: (method) => (request) => {
      received(method.localName, request);
      const next = () => Promise.reject(noAnswer(method));
      return { [Symbol.asyncIterator]: () => ({ next }) };
    },
  }) as object as Record<string, unknown>;
  for (const { localName } of service.methods) {
    if (given[localName] === undefined) client[localName] = unanswered[localName];
  }
  return client as Client<S>;
}

function noAnswer({ parent, name }: DescMethod): Error {
  return new Error(`no answer is given for ${parent.typeName}/${name}`);
}

/** A value of a field: messages are plain objects with the fields that they have. */
type Plain<T> = T extends Message
  ? { [P in keyof T as P extends keyof Message ? never : P]?: Plain<NonNullable<T[P]>> }
  : T extends (infer U)[]
    ? Plain<U>[]
    : T;

/** The fields of a message. */
export type FieldsOf<T> = {
  [P in keyof T as P extends keyof Message ? never : P]: Plain<T[P]>;
};

/** The fields of a message as they are when nothing is set: empty, zero, false, or absent for messages. */
export function emptyFields<S extends DescMessage>(schema: S): FieldsOf<MessageShape<S>> {
  const { $typeName: _, ...fields } = create(schema) as object as Message;
  return fields as object as FieldsOf<MessageShape<S>>;
}
