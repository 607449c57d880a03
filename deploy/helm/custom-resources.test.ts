import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';
import { declaredStateSchema } from '@tessera/directory/json-schema';
import { customResources } from './custom-resources.ts';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly [keyword: string]: unknown;
}

const committed = readFileSync(join(import.meta.dirname, 'tessera/custom-resources.yaml'), 'utf8');
const definitions = parse(committed) as readonly {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}[];
const specOf = (kind: string) => {
  const found = definitions.find(({ spec }) => spec.names.kind === kind);
  return found?.spec.versions[0]?.schema.openAPIV3Schema.properties?.['spec'] ?? {};
};
const fieldsOf = ({ properties = {} }: Schema) => Object.keys(properties).toSorted();
const declared = (list: string) =>
  (declaredStateSchema() as Schema).properties?.['tenants']?.items?.properties?.[list]?.items ?? {};

/** Every schema in one, with its path. */
function schemasIn(schema: unknown, path = ''): [path: string, schema: Schema][] {
  if (typeof schema !== 'object' || schema === null) return [];
  const parts = Object.entries(schema).flatMap(([key, part]) => schemasIn(part, `${path}.${key}`));
  return [[path, schema as Schema], ...parts];
}

describe('The definitions of objects', () => {
  test('are what the fields of the declared state say: npm run generate:chart', () => {
    expect(committed).toBe(customResources());
  });

  test('have every field of an application and an API, but for secrets and what reaches others', () => {
    const left = (list: string, kind: string) => {
      const own = new Set(fieldsOf(specOf(kind)));
      return fieldsOf(declared(list)).filter((key) => !own.has(key));
    };
    expect(left('applications', 'TesseraApplication')).toEqual([
      'idTokenSigningAlgorithm',
      'owners',
      'secrets',
    ]);
    expect(left('resources', 'TesseraResource')).toEqual(['shared', 'signingAlgorithm']);
    expect(fieldsOf(specOf('TesseraApplication')).length).toBeGreaterThan(25);
  });

  test('describe each field, also within others, for kubectl explain', () => {
    for (const definition of definitions)
      for (const [path, schema] of schemasIn(definition.spec.versions[0]?.schema.openAPIV3Schema))
        if (/\.(?:spec|status)\.(?:.*\.)?properties\.\w+$/.test(path))
          expect(schema['description'], path).toEqual(expect.stringMatching(/\S/));
  });

  test('have no place for a private key', () => {
    const key = specOf('TesseraApplication').properties?.['publicKeys']?.items ?? {};
    expect(fieldsOf(key)).toEqual(['alg', 'crv', 'e', 'kid', 'kty', 'n', 'use', 'x', 'y']);
  });

  test('are structural: one type for each place, no keyword that Kubernetes refuses, patterns that Go reads', () => {
    for (const kind of ['TesseraApplication', 'TesseraResource']) {
      for (const [path, schema] of schemasIn(specOf(kind))) {
        if (path.endsWith('.properties')) continue;
        const refused = ['const', 'default', 'oneOf', 'propertyNames', '$ref', 'allOf'];
        expect(
          Object.keys(schema).filter((key) => refused.includes(key)),
          path,
        ).toEqual([]);
        expect(schema['additionalProperties'], path).not.toBe(false);
        if (schema['anyOf'] !== undefined) expect(schema['x-kubernetes-int-or-string'], path).toBe(true);
        if (typeof schema['pattern'] === 'string')
          expect(schema['pattern'], path).not.toMatch(/\\u|\\p|\(\?[<=!]/);
      }
    }
  });
});
