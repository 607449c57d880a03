import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

/** Something that a module of Go carries; looked for only when it is needed. */
export interface Source {
  readonly module: string;
  readonly find: () => string;
}

interface Schema {
  type?: string;
  format?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  $ref?: string;
  [extension: string]: unknown;
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface CustomResource {
  readonly kind?: string;
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly schema?: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

/**
 * One JSON schema for each kind, `<kind>-<first label of the group>-<version>.json`, as kubeconform looks for them:
 * those of a Kubernetes from its OpenAPI document, those of custom resources from their definitions. What a schema does
 * not name is refused, which the API server itself would drop with a warning.
 */
export function writeSchemas(directory: string, openapi: Source, crds: readonly Source[]): void {
  const stamp = join(directory, 'made-from.txt');
  const madeFrom = [openapi, ...crds].map(({ module }) => module).join('\n');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === madeFrom) return;
  mkdirSync(directory, { recursive: true });
  const write = (name: string, content: unknown) =>
    writeFileSync(join(directory, name), JSON.stringify(content));
  const { definitions } = JSON.parse(readFileSync(openapi.find(), 'utf8')) as {
    definitions: Record<string, Schema>;
  };
  for (const definition of Object.values(definitions)) close(definition);
  Object.assign(definitions['io.k8s.apimachinery.pkg.api.resource.Quantity'] ?? {}, {
    type: undefined,
    oneOf: [{ type: 'string' }, { type: 'number' }],
  });
  write('_definitions.json', { definitions });
  for (const [name, definition] of Object.entries(definitions)) {
    const kinds = (definition['x-kubernetes-group-version-kind'] ?? []) as readonly GroupVersionKind[];
    for (const kind of kinds) write(fileName(kind), { $ref: `_definitions.json#/definitions/${name}` });
  }
  for (const crd of crds) writeCustomResources(crd.find(), write);
  writeFileSync(stamp, madeFrom);
}

function writeCustomResources(directory: string, write: (name: string, content: unknown) => void): void {
  for (const file of globSync('*.yaml', { cwd: directory })) {
    for (const document of parseAllDocuments(readFileSync(join(directory, file), 'utf8'))) {
      const resource = document.toJS() as CustomResource | null;
      if (resource?.kind !== 'CustomResourceDefinition') continue;
      const { group, names, versions } = resource.spec;
      for (const { name, schema } of versions) {
        if (schema === undefined) continue;
        close(schema.openAPIV3Schema);
        // The definitions leave the metadata of an object to Kubernetes.
        const meta = {
          $ref: '_definitions.json#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
        };
        const properties = { ...schema.openAPIV3Schema.properties, metadata: meta };
        write(fileName({ group, version: name, kind: names.kind }), {
          ...schema.openAPIV3Schema,
          properties,
        });
      }
    }
  }
}

const fileName = ({ group, version, kind }: GroupVersionKind) =>
  `${[kind.toLowerCase(), ...(group === '' ? [] : [group.split('.', 1)[0]]), version].join('-')}.json`;

/** Refuses unknown keys, and spells out what OpenAPI says by formats and extensions. */
function close(schema: Schema): void {
  if (schema.format === 'int-or-string' || schema['x-kubernetes-int-or-string'] === true) {
    delete schema.type;
    delete schema.format;
    schema['anyOf'] ??= [{ type: 'string' }, { type: 'integer' }];
  }
  if (schema.properties !== undefined) {
    if (schema['x-kubernetes-preserve-unknown-fields'] !== true) schema.additionalProperties ??= false;
    for (const property of Object.values(schema.properties)) close(property);
  }
  if (typeof schema.additionalProperties === 'object') close(schema.additionalProperties);
  if (schema.items !== undefined) close(schema.items);
}
