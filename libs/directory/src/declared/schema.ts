import { isScopeToken } from '@tessera/oauth';
import { z } from 'zod';
import { application } from '../applications/fields.ts';
import { line } from '../fields/values.ts';
import { isPasswordHash } from '../passwords/phc.ts';
import { attributes } from '../users/attributes.ts';
import { standardClaims } from '../users/standard-claims.ts';
import { tenantIssuerProblem } from './tenant-issuer.ts';

/** Longest password that is hashed, in UTF-16 code units. */
export const longestPassword = 1024;

const scopeName = z
  .string()
  .max(128)
  .refine(isScopeToken, 'must be printable ASCII without spaces, quotes and backslashes');

const audience = z
  .string()
  .max(512)
  .regex(/^[\x21\x22\x24-\x7e]+$/, 'must be printable ASCII without spaces and without a fragment');

const issuer = z
  .string()
  .max(512)
  .superRefine((value, context) => {
    const problem = tenantIssuerProblem(value);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });

const resource = z.strictObject({
  audience,
  name: line(200),
  // Whether other tenants of the same issuer may declare the audience too.
  shared: z.boolean().default(false),
  scopes: z
    .array(
      z.preprocess(
        (value) => (typeof value === 'string' ? { name: value } : value),
        z.strictObject({ name: scopeName, description: line(500).default('') }),
      ),
    )
    .default([]),
  tokenType: z.enum(['at+jwt', 'JWT']).default('at+jwt'),
  scopeFormat: z.enum(['array', 'string']).default('array'),
});

export const user = z.strictObject({
  username: line(128),
  email: line(254)
    .regex(/^[^@\s]+@[^@\s]+$/, 'must be an e-mail address')
    .default(''),
  name: line(200).default(''),
  phoneNumber: z
    .string()
    .regex(/^\+[1-9]\d{5,14}$/, 'must be a phone number such as +46701234567')
    .default(''),
  ...standardClaims,
  attributes,
  roles: z.array(z.string()).default([]),
  status: z.enum(['active', 'disabled', 'locked']).optional(),
  password: z.string().min(1).max(longestPassword).optional(),
  passwordHash: z
    .string()
    .refine(isPasswordHash, 'must be an argon2id hash in PHC form ($argon2id$v=19$m=...,t=...,p=...$...$...)')
    .optional(),
});

export const tenant = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be a slug of lower-case letters, digits and dashes'),
  name: line(200),
  status: z.enum(['active', 'disabled']).optional(),
  issuer: issuer.optional(),
  resources: z.array(resource).default([]),
  roles: z.array(line(100)).default([]),
  users: z.array(user).default([]),
  applications: z.array(application).default([]),
});

/** The whole file. Every key that is not named here is refused. */
export const declaredState = z.strictObject({ tenants: z.array(tenant) });

export type DeclaredState = z.infer<typeof declaredState>;
export type DeclaredTenant = DeclaredState['tenants'][number];
export type DeclaredUser = DeclaredTenant['users'][number];
