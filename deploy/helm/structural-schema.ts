/** The part of JSON Schema, and of what Kubernetes makes of it, that is read and written. */
export interface Schema {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  required?: string[];
  anyOf?: Schema[];
  const?: unknown;
  enum?: unknown[];
  pattern?: string;
  [keyword: string]: unknown;
}

/** What Kubernetes takes as it is. */
const kept = [
  'description',
  'enum',
  'format',
  'items',
  'maxItems',
  'maxLength',
  'maximum',
  'minItems',
  'minLength',
  'minimum',
  'properties',
  'required',
  'type',
];

/**
 * The structural form of a schema: one type for each place, no keyword that Kubernetes has not. Defaults are left to
 * the administration API, so that objects that stay get those of a later version.
 */
export function structural({ ...schema }: Schema): Schema {
  const choices = schema.anyOf ?? [];
  const types = new Set(choices.map(({ type }) => type));
  if (choices.length > 0 && !types.has('object') && !types.has('array'))
    return types.has('integer')
      ? textOrNumber(schema, choices)
      : { ...structural(choices[0] ?? {}), ...described(schema) };
  // The longer form says all that the shorter one does.
  const longer = choices.find(({ type }) => type === 'object' || type === 'array');
  if (longer !== undefined) return { ...structural(longer), ...described(schema) };
  const result: Schema = Object.fromEntries(Object.entries(schema).filter(([key]) => kept.includes(key)));
  if (schema.const !== undefined) result.enum = [schema.const];
  if (schema.pattern !== undefined) result.pattern = pattern(schema.pattern);
  if (schema['exclusiveMinimum'] !== undefined)
    Object.assign(result, { minimum: schema['exclusiveMinimum'], exclusiveMinimum: true });
  if (schema.items !== undefined) {
    result.items = structural(schema.items);
    // What a rule of a list costs is estimated by its length.
    const choices = result.items.enum?.length;
    if (choices !== undefined) result['maxItems'] ??= choices;
  }
  if (schema.properties !== undefined) result.properties = mapped(schema.properties);
  else if (typeof schema.additionalProperties === 'object')
    result.additionalProperties = structural(schema.additionalProperties);
  return result;
}

const described = ({ description }: Schema): Schema => (description === undefined ? {} : { description });

const mapped = (properties: Readonly<Record<string, Schema>>): Record<string, Schema> =>
  Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, structural(part)]));

/** A duration as text, or its seconds. */
function textOrNumber(schema: Schema, choices: readonly Schema[]): Schema {
  const { maximum } = choices.find(({ type }) => type === 'integer') ?? {};
  const text = choices.find(({ type }) => type === 'string')?.pattern ?? '';
  return {
    ...described(schema),
    'x-kubernetes-int-or-string': true,
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    pattern: pattern(text),
    minimum: 1,
    maximum,
  };
}

/** Go writes characters by number otherwise. */
const pattern = (text: string): string => text.replaceAll(/\\u00([0-9a-f]{2})/g, '\\x$1');
