import {
  clearField,
  create,
  invalidFields,
  storedMessage,
  type DescMessage,
  type JsonValue,
  type MessageShape,
} from '@tessera/rpc';
import { ImpactSchema } from '@tessera/proto-gen/impact';
import type { z } from 'zod';
import { keyOf, type Path } from '../fields/path.ts';
import { sentence } from '../fields/sentences.ts';
import type { Report } from '../fields/field-checks.ts';
import type { Outcome } from './change-requests.ts';

/**
 * A record as the declared state has it, which is also the JSON of its message without the fields that the server sets.
 */
export type Entry = Readonly<Record<string, unknown>>;

type FieldPath = readonly string[];

/** How a kind of record stands in messages. */
export interface RecordForm<D extends DescMessage> {
  /** What a request says of a record. Throws InvalidArgument if it says nothing, or what JSON cannot. */
  entryOf(message: MessageShape<D> | undefined): Entry;
  /** Whose a request says that a record is; empty if it does not say it. */
  ownerIn(message: MessageShape<D> | undefined): string;
  /** The message of a record whose entry is given. */
  messageOf(entry: Entry, stored: Outcome<Owned>): MessageShape<D>;
  /** The fields that an update changes (AIP-134). Throws InvalidArgument for an unknown one. */
  pathsOf(mask: { readonly paths: readonly string[] } | undefined, given: Entry): readonly FieldPath[];
  /** Parses an entry. Throws InvalidArgument with every mistake. */
  parse<T>(schema: z.ZodType<T>, entry: Entry): T;
  /** Runs checks. Throws InvalidArgument with every mistake. */
  check(run: (report: Report) => void): void;
}

interface Owned {
  readonly owner: string;
}

/**
 * @param noun the field of requests that has the record
 * @param keys of an entry
 */
export function recordForm<D extends DescMessage>(
  schema: D,
  noun: string,
  keys: readonly string[],
): RecordForm<D> {
  const json = storedMessage(schema);
  const violation = (path: Path, description: string) => ({ field: keyOf([noun, ...path]), description });
  const fieldsOfServer = schema.fields.filter(({ jsonName }) => !keys.includes(jsonName));

  /** Takes what the server sets out of the message. */
  function encode(message: MessageShape<D>): Entry {
    for (const field of fieldsOfServer) clearField(message, field);
    try {
      return json.encode(message) as Entry;
    } catch {
      const description =
        'has no JSON: each number must be finite, and each value of a google.protobuf.Struct be given';
      throw invalidFields([{ field: noun, description }]);
    }
  }

  return {
    entryOf(message) {
      if (message === undefined) throw invalidFields([{ field: noun, description: 'is required' }]);
      return encode({ ...message });
    },

    ownerIn: (message) => (message as Partial<Owned> | undefined)?.owner ?? '',

    messageOf(entry, { record, etag = '', createdAt, updatedAt, deletedAt, impact }) {
      const times = {
        ...(createdAt && { createTime: createdAt.toISOString() }),
        ...(updatedAt && { updateTime: updatedAt.toISOString() }),
        ...(deletedAt && { deleteTime: deletedAt.toISOString() }),
      };
      const message = json.decode(withoutAbsent({ ...entry, owner: record.owner, etag, ...times }));
      return impact === undefined
        ? message
        : Object.assign(message, { impact: create(ImpactSchema, impact) });
    },

    pathsOf(mask, given) {
      const paths = mask?.paths ?? [];
      if (paths.length === 0) return Object.keys(given).map((key) => [key]);
      if (paths.includes('*')) return keys.map((key) => [key]);
      const found = paths.map((path) => pathIn(schema, path.split('.')));
      const unknown = paths.filter((_, index) => !keys.includes(found[index]?.[0] ?? ''));
      if (unknown.length > 0)
        throw invalidFields(
          unknown.map((path) => ({ field: 'updateMask', description: `${path} cannot be changed` })),
        );
      return found.map((path) => path ?? []);
    },

    parse(type, entry) {
      const parsed = type.safeParse(entry, { error: sentence });
      if (parsed.success) return parsed.data;
      throw invalidFields(
        parsed.error.issues.map((issue) =>
          violation(
            issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step)),
            issue.message,
          ),
        ),
      );
    },

    check(run) {
      const violations: ReturnType<typeof violation>[] = [];
      run((path, message) => violations.push(violation(path, message)));
      if (violations.length > 0) throw invalidFields(violations);
    },
  };
}

/** The values of an entry are JSON, except that some may be undefined. */
function withoutAbsent(entry: Entry): JsonValue {
  return JSON.parse(JSON.stringify(entry)) as JsonValue;
}

/** The JSON names of a path that has the names of the proto; undefined if there is no such field. */
function pathIn(schema: DescMessage, [name = '', ...rest]: readonly string[]): FieldPath | undefined {
  const field = schema.fields.find((candidate) => candidate.name === name);
  if (field === undefined) return undefined;
  if (rest.length === 0) return [field.jsonName];
  if (field.fieldKind === 'map' || field.message?.typeName === 'google.protobuf.Struct')
    return [field.jsonName, rest.join('.')];
  const inner = field.fieldKind === 'message' ? pathIn(field.message, rest) : undefined;
  return inner && [field.jsonName, ...inner];
}

/** The present entry with the given values of these fields; a field that is not given is left out. */
export function updatedEntry(present: Entry, given: Entry, paths: readonly FieldPath[]): Entry {
  return paths.reduce((entry, path) => withValue(entry, path, valueAt(given, path)), present);
}

function withValue(entry: Entry, [key = '', ...rest]: FieldPath, value: unknown): Entry {
  const { [key]: before, ...others } = entry;
  const after = rest.length === 0 ? value : withValue(isEntry(before) ? before : {}, rest, value);
  const isNothing = after === undefined || (rest.length > 0 && Object.keys(after as Entry).length === 0);
  return isNothing ? others : { ...others, [key]: after };
}

function valueAt(entry: Entry, path: FieldPath): unknown {
  return path.reduce<unknown>((value, key) => (isEntry(value) ? value[key] : undefined), entry);
}

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
