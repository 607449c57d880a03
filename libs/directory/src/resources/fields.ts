import { defaultSigningAlgorithm, isBuiltIn, isScopeToken, signingAlgorithmNames } from '@tessera/oauth';
import { z } from 'zod';
import { columnsOf, snakeCase } from '../fields/columns.ts';
import { field, referenceOf, shapeOf, type RecordOf } from '../fields/field.ts';
import { owners } from '../fields/owner.ts';
import { line, orText, texts } from '../fields/values.ts';

const scopeName = z
  .string()
  .max(128)
  .refine(isScopeToken, 'must be printable ASCII without spaces, quotes and backslashes');

/** The fields of a resource that applications get with each scope of it that they are granted. */
export const tokenFields = {
  tokenType: field({
    schema: z.enum(['at+jwt', 'JWT']).default('at+jwt'),
    stored: 'text',
    reference:
      '`typ` of its access tokens: `at+jwt` (default), or `JWT` for verifiers that accept no other; no application of any tenant may ' +
      'then have the audience as `clientId`',
  }),
  scopeFormat: field({
    schema: z.enum(['array', 'string']).default('array'),
    stored: 'text',
    reference: '`scope` of its access tokens: `array` (default), or `string` (RFC 9068 §2.2.3)',
  }),
  signingAlgorithm: field({
    schema: z.enum(signingAlgorithmNames).default(defaultSigningAlgorithm),
    stored: 'text',
    reference:
      '`alg` of its access tokens: `RS256` (default), or `ES256` for verifiers that accept it: an access token then costs about a third, and is shorter',
  }),
  roles: field({
    // Never declared as empty: that would be all.
    schema: z.array(z.string()).min(1).default([]),
    stored: 'text[]',
    reference:
      "roles of the tenant, at least one: of the roles of a person, its access tokens have these alone, and of them those of the application's `roles`; without it all",
  }),
};

interface DeclaredScope {
  readonly name: string;
  readonly description: string;
  readonly descriptions: Readonly<Record<string, string>>;
}

/** The shortest form of a scope. */
function writtenScope({ name, description, descriptions }: DeclaredScope): unknown {
  const isTold = Object.keys(descriptions).length > 0;
  if (description === '' && !isTold) return name;
  return { name, ...(description !== '' && { description }), ...(isTold && { descriptions }) };
}

/** The fields of an API resource, in the order of the reference and of the declared state that is written. */
export const resourceFields = {
  audience: field({
    schema: z
      .string()
      .max(512)
      .regex(/^[\x21\x22\x24-\x7e]+$/, 'must be printable ASCII without spaces and without a fragment')
      .refine((audience) => !isBuiltIn.audience(audience), 'is built in and may not be declared'),
    stored: 'text',
    reference: 'the `aud` of its tokens: printable ASCII without `#`, unique within the tenant',
  }),
  name: field({ schema: line(200), stored: 'text', reference: 'text' }),
  shared: field({
    schema: z.boolean().default(false),
    stored: 'boolean',
    reference: '`true`: other tenants of the same issuer may declare the audience too, if they also say so',
  }),
  scopes: field({
    schema: z
      .array(
        orText(
          scopeName,
          (name) => ({ name }),
          z.strictObject({
            name: scopeName,
            description: line(500).default(''),
            descriptions: texts(500),
          }),
        ),
      )
      .default([]),
    stored: {
      select: `(SELECT coalesce(jsonb_agg(jsonb_build_object('name', s.name, 'description', s.description,
                                                            'descriptions', s.descriptions)
                                ORDER BY s.position), '[]')
                  FROM directory.scope s
                 WHERE s.tenant_id = r.tenant_id AND s.audience = r.audience)`,
    },
    written: (scopes) => scopes.map(writtenScope),
    reference:
      'names, or `{name, description, descriptions}`: what people read when they are asked for consent, such as `change orders`, and by ' +
      'language, `{de: Bestellungen ändern}`; each scope belongs to one resource of the tenant',
  }),
  assignableBy: field({
    schema: orText(owners, (name) => [name], z.array(owners).max(100)).default([]),
    stored: 'text[]',
    written: (by) => (by.length === 1 ? by[0] : by),
    reference:
      'who may give its scopes to applications without the right to change it (`admin.resources.write`): `tenant`, everybody who changes ' +
      'applications; `owner`, for applications of its own [owner](#owners); or a list of owners, for applications of these. Default: nobody',
  }),
  ...tokenFields,
};

/** For jsonb_build_object: `tokenFields` of the resource `r`, empty if there is none. */
export const tokenColumns = Object.entries(tokenFields)
  .map(([name, { stored }]) => {
    const empty = stored === 'text[]' ? `'{}'` : `''`;
    return `'${name}', coalesce(r.${snakeCase(name)}, ${empty})`;
  })
  .join(', ');

/** An API resource in the declared state. */
export const resource = z.strictObject(shapeOf(resourceFields));
export const resourceReference = referenceOf(resourceFields);
export interface ResourceRecord extends RecordOf<typeof resourceFields> {
  /** Who changes the record. */
  readonly owner: string;
}
export const resourceColumns = columnsOf<ResourceRecord>(
  { ...resourceFields, owner: { stored: 'text' } },
  'audience',
  'r',
);
