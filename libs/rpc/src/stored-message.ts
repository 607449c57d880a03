import { fromJson, toJson, type DescMessage, type JsonValue, type MessageShape } from '@bufbuild/protobuf';
import { readStored } from './errors/other-version.ts';

/** A message as one JSON value of a store. Processes of several versions share stores. */
export interface StoredMessage<D extends DescMessage> {
  encode(message: MessageShape<D>): JsonValue;
  /** Fields of a newer version are left out. Throws `temporarily_unavailable` if the value is no such message. */
  decode(value: JsonValue): MessageShape<D>;
}

export function storedMessage<D extends DescMessage>(schema: D): StoredMessage<D> {
  return {
    encode: (message) => toJson(schema, message),
    decode: (value) =>
      readStored(schema.typeName, () => fromJson(schema, value, { ignoreUnknownFields: true })),
  };
}
