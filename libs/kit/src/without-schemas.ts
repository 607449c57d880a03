/**
 * For Fastify's `schemaController`: routes have no JSON schemas. Without it Fastify loads its compilers of them, with
 * Ajv, at every start. A route with a schema fails the start.
 */
export const withoutSchemas = { compilersFactory: { buildValidator: refuse, buildSerializer: refuse } };

function refuse(): never {
  throw new Error('routes of this server have no schemas');
}
