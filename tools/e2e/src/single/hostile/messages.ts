import {
  create,
  ScalarType,
  toBinary,
  type DescField,
  type DescMessage,
  type DescOneof,
} from '@bufbuild/protobuf';
import fc from 'fast-check';
import { textsLike } from './fuzz.ts';

/**
 * The bytes of messages of a type with any content, and of some that are no message. `known` are texts worth trying
 * anywhere.
 */
export function encodedMessages(type: DescMessage, known: readonly string[]): fc.Arbitrary<Buffer> {
  const texts = textsLike(known);
  const encoded = messages(type, texts, 4).map((init) => Buffer.from(toBinary(type, create(type, init))));
  const changed = fc.tuple(encoded, fc.nat(), fc.nat(255)).map(([bytes, at, byte]) => {
    if (bytes.length > 0) bytes[at % bytes.length] = byte;
    return bytes;
  });
  const cut = fc.tuple(encoded, fc.nat()).map(([bytes, at]) => bytes.subarray(0, at % (bytes.length + 1)));
  return fc.oneof({ weight: 8, arbitrary: encoded }, changed, cut);
}

type Init = Record<string, unknown>;

function messages(type: DescMessage, texts: fc.Arbitrary<string>, depth: number): fc.Arbitrary<Init> {
  const members = type.members.map((member) => [member.localName, memberOf(member, texts, depth)] as const);
  return fc.record(Object.fromEntries(members));
}

function memberOf(member: DescField | DescOneof, texts: fc.Arbitrary<string>, depth: number) {
  if (member.kind === 'field') return fc.option(valuesOf(member, texts, depth), { nil: undefined, freq: 8 });
  const cases = member.fields.map((field) =>
    valuesOf(field, texts, depth).map((value) => ({ case: field.localName, value })),
  );
  return fc.option(fc.oneof(...cases), { nil: undefined, freq: 8 });
}

function valuesOf(field: DescField, texts: fc.Arbitrary<string>, depth: number): fc.Arbitrary<unknown> {
  const of = ({ scalar, message, enum: named }: DescField): fc.Arbitrary<unknown> => {
    if (scalar !== undefined) return scalars(scalar, texts);
    if (named !== undefined) return fc.constantFrom(...named.values.map(({ number }) => number), 99);
    if (message === undefined || depth === 0) return fc.constant(undefined);
    return messages(message, texts, depth - 1);
  };
  if (field.fieldKind === 'list') {
    return depth === 0 ? fc.constant([]) : fc.array(of(field), { maxLength: 3 });
  }
  return field.fieldKind === 'map' ? fc.dictionary(texts, of(field), { maxKeys: 8 }) : of(field);
}

function scalars(type: ScalarType, texts: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  switch (type) {
    case ScalarType.STRING:
      // A lone surrogate has no encoding.
      return texts.map((text) => text.toWellFormed());
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 80 });
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return fc.float();
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return fc.nat();
    default:
      return fc.integer();
  }
}
