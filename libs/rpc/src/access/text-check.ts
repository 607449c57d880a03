import {
  ScalarType,
  type DescField,
  type DescMessage,
  type DescMethod,
  type Message,
} from '@bufbuild/protobuf';
import { isWrapperDesc } from '@bufbuild/protobuf/wkt';
import { isStorable, startOf } from '@tessera/kit';
import { invalidFields } from '../errors/field-violations.ts';
import { declaredAccess } from './declared-access.ts';

/** Throws InvalidArgument for a request with a text that no store takes, and names its field. */
export type CheckTexts = (request: Message) => void;

/** The keys of maps are part of it, and it travels in a gRPC trailer. */
const longestField = 200;

/**
 * The check of every text in a method's requests, keys of maps included; undefined where the method is declared for any
 * text. No handler repeats it. What a handler decodes from bytes or out of a text has not passed it.
 */
export function textCheck(method: DescMethod): CheckTexts | undefined {
  if (declaredAccess(method).anyText) return undefined;
  const find = inMessage(method.input);
  return (request) => {
    const path = find(request);
    if (path === undefined) return;
    // Without the dot before the first name.
    const field = startOf(path.slice(1), longestField);
    throw invalidFields([{ field, description: 'must be well-formed Unicode without U+0000' }]);
  };
}

/**
 * The path, seen from a value, of its first text that no store takes: empty for the value itself, or such as
 * `.user.roles[1]`; undefined without one. It grows on the way back, so that a request without one costs no path.
 */
type Find = (value: unknown) => string | undefined;

const inText: Find = (value) => (typeof value !== 'string' || isStorable(value) ? undefined : '');

/** What can hold texts of a message is the same for each, and some messages contain themselves. */
const found = new WeakMap<DescMessage, Find>();

function inMessage(desc: DescMessage): Find {
  const known = found.get(desc);
  if (known !== undefined) return known;
  const members: [localName: string, Find][] = [];
  const find: Find = (message) => {
    if (message === undefined) return undefined;
    const values = message as Readonly<Record<string, unknown>>;
    for (const [localName, inMember] of members) {
      const path = inMember(values[localName]);
      if (path !== undefined) return path;
    }
    return undefined;
  };
  found.set(desc, find);
  for (const member of desc.members) {
    const inMember = member.kind === 'oneof' ? inOneof(member.fields) : inField(member);
    if (inMember !== undefined) members.push([member.localName, inMember]);
  }
  return find;
}

function inOneof(fields: readonly DescField[]): Find {
  const byCase = new Map(fields.map((field) => [field.localName, inField(field)]));
  return (oneof) => {
    const { case: chosen, value } = oneof as { readonly case?: string; readonly value?: unknown };
    return chosen === undefined ? undefined : byCase.get(chosen)?.(value);
  };
}

/** Undefined for a field that holds no text. */
function inField(field: DescField): Find | undefined {
  const inEach = inElement(field);
  const { fieldKind, jsonName } = field;
  let inValue = inEach;
  if (fieldKind === 'map') inValue = (value) => inEntries(value as object, inEach ?? inText);
  else if (fieldKind === 'list' && inEach !== undefined)
    inValue = (value) => inList(value as readonly unknown[], inEach);
  if (inValue === undefined) return undefined;
  const find = inValue;
  return (value) => {
    const path = find(value);
    return path === undefined ? undefined : `.${jsonName}${path}`;
  };
}

/** In a value of the field, or in each of its values. */
function inElement(field: DescField): Find | undefined {
  const { scalar, message } = field;
  if (scalar === ScalarType.STRING) return inText;
  if (message === undefined) return undefined;
  // Protobuf-ES has these as plain values.
  const isPlain =
    isWrapperDesc(message) ||
    (message.typeName === 'google.protobuf.Struct' && field.parent.typeName !== 'google.protobuf.Value');
  return isPlain ? inPlain : inMessage(message);
}

const inPlain: Find = (value) => {
  if (typeof value === 'string') return inText(value);
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return undefined;
  return Array.isArray(value) ? inList(value, inPlain) : inEntries(value, inPlain);
};

function inList(list: readonly unknown[], find: Find): string | undefined {
  for (let index = 0; index < list.length; index += 1) {
    const path = find(list[index]);
    if (path !== undefined) return `[${index}]${path}`;
  }
  return undefined;
}

/** A key that no store takes is not repeated. */
function inEntries(entries: object, find: Find): string | undefined {
  for (const [key, value] of Object.entries(entries)) {
    if (!isStorable(key)) return '';
    const path = find(value);
    if (path !== undefined) return `.${key}${path}`;
  }
  return undefined;
}
