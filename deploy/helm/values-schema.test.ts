import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
}

const file = (name: string) => readFileSync(join(import.meta.dirname, 'tessera', name), 'utf8');
const schema = JSON.parse(file('values.schema.json')) as Schema;

/** The paths of values that Helm would refuse, and of those that it would miss. */
function problems(part: Schema, value: unknown, path: string): string[] {
  const { properties = {}, required = [], additionalProperties } = resolved(part);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  const missing = required.filter((name) => !(name in value)).map((name) => `${path}.${name} is missing`);
  const others = Object.entries(value).flatMap(([name, inner]) => {
    const known = properties[name];
    if (known !== undefined) return problems(known, inner, `${path}.${name}`);
    if (typeof additionalProperties === 'object')
      return problems(additionalProperties, inner, `${path}.${name}`);
    return additionalProperties === false ? [`${path}.${name} is unknown`] : [];
  });
  return [...missing, ...others];
}

function resolved(part: Schema): Schema {
  const name = part.$ref?.replace('#/$defs/', '');
  return name === undefined ? part : (schema.$defs?.[name] ?? {});
}

test('The values of the chart are those that its schema knows', () => {
  expect(problems(schema, parse(file('values.yaml')), '')).toEqual([]);
  expect(problems(schema, { administration: { console: { adress: '' } } }, '')).toEqual(
    expect.arrayContaining(['.administration.console.adress is unknown', '.state is missing']),
  );
});
