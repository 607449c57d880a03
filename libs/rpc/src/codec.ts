import { fromBinary, toBinary } from '@bufbuild/protobuf';
import type { DescMessage, Message } from '@bufbuild/protobuf';

/** The bytes of a message, as the Buffer that the wire takes. */
export function encodeMessage(schema: DescMessage, message: Message): Buffer {
  const bytes = toBinary(schema, message);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The message of these bytes. Read through a plain view, so that its byte fields are Uint8Arrays and not Buffers. */
export function decodeMessage(schema: DescMessage, bytes: Buffer): Message {
  return fromBinary(schema, new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}
