import { z } from 'zod';
import { shorterFormOf } from '../fields/values.ts';
import { reference } from './reference.ts';
import { referencePlaces, references } from './resolve.ts';
import { declaredState } from './schema.ts';

/** The part of JSON Schema (draft 2020-12) that this file reads and writes. */
interface JsonSchema {
  $schema?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  required?: string[];
  [keyword: string]: unknown;
}

/**
 * The JSON Schema of a declared state, for editors. It accepts whatever `readDeclaredState` accepts, with and without
 * references, and more: rules that no keyword can say, and those that involve several keys.
 */
export function declaredStateSchema(): JsonSchema {
  const { $schema = '', ...schema } = converted(declaredState);
  describeKeys(schema);
  for (const place of referencePlaces) addReferences(partAt(schema, place));
  const title = 'Declared state of Tessera';
  return {
    $schema,
    title,
    description: 'The tenants of a deployment, as tessera apply reads them.',
    ...schema,
  };
}

function converted(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', override: adapt }) as JsonSchema;
}

type Converted = Parameters<NonNullable<z.core.ToJSONSchemaParams['override']>>[0];

function adapt({ zodSchema, jsonSchema }: Converted): void {
  const { def } = zodSchema._zod;
  // Some defaults stand for "not declared" alone, and would be refused in a file.
  if (def.type === 'default' && !z.safeParse(def.innerType, def.defaultValue).success)
    delete jsonSchema.default;
  // The pattern of a time says the same, and not every validator reads formats alike.
  delete jsonSchema.format;
  for (const part of [jsonSchema, ...(jsonSchema.allOf ?? [])]) {
    // Not every validator knows Unicode classes.
    if (part.pattern !== undefined)
      part.pattern = part.pattern.replaceAll('\\p{Cc}', '\\u0000-\\u001f\\u007f-\\u009f');
  }
  const shorter = shorterFormOf(zodSchema);
  if (shorter === undefined) return;
  const { $schema: _, ...text } = converted(shorter);
  const longer = { ...jsonSchema };
  for (const key of Object.keys(longer)) delete jsonSchema[key];
  jsonSchema.anyOf = [text, longer] as z.core.JSONSchema.BaseSchema[];
}

function describeKeys(file: JsonSchema): void {
  const ofTenants = partAt(file, 'tenants');
  for (const [kind, rows] of Object.entries(reference)) {
    const place = kind === 'file' ? file : kind === 'tenants' ? ofTenants : partAt(ofTenants, kind);
    for (const { key, text } of rows) propertyOf(place, key).description = withoutLinks(text);
  }
}

/** Lets references stand in the place of the keys whose values they refer to. */
function addReferences(record: JsonSchema): void {
  const { properties = {}, required = [] } = record;
  const named = Object.entries(references).filter(([, { key }]) => Object.hasOwn(properties, key));
  for (const [name, { from, key }] of named) {
    const source =
      from === 'environment' ? 'environment variable' : 'file, by its path relative to this one,';
    properties[name] = { type: 'string', minLength: 1, description: `the ${source} with the \`${key}\`` };
  }
  const sourcesOf = (key: string) => named.flatMap(([name, to]) => (to.key === key ? [name] : []));
  for (const key of required.filter((key) => sourcesOf(key).length > 0)) {
    record.required = required.filter((other) => other !== key);
    record['oneOf'] = [key, ...sourcesOf(key)].map((name) => ({ required: [name] }));
  }
}

/** What is in the lists that these keys have, such as `tenants.users`. */
function partAt(schema: JsonSchema, keys: string): JsonSchema {
  return keys.split('.').reduce((at, key) => {
    const { items } = propertyOf(at, key);
    if (items === undefined) throw new Error(`${key} is not a list.`);
    return items;
  }, schema);
}

function propertyOf(schema: JsonSchema, key: string): JsonSchema {
  const property = schema.properties?.[key];
  if (property === undefined) throw new Error(`There is no key ${key}.`);
  return property;
}

/** Markdown as plain text, but for code. */
function withoutLinks(text: string): string {
  return text.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1');
}
