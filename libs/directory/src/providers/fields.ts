import { builtInPrefix, isScopeToken } from '@tessera/oauth';
import { z } from 'zod';
import { columnsOf } from '../fields/columns.ts';
import { field, referenceOf, shapeOf, type Key, type RecordOf } from '../fields/field.ts';
import { callbackUri, emailDomain, line } from '../fields/values.ts';
import { attributeName } from '../users/claims/attributes.ts';
import { presetNames, presets } from './presets.ts';

const claim = line(128);
const mappedRole = line(100).refine(
  (role) => !role.startsWith(builtInPrefix),
  `must not begin with ${builtInPrefix}: nobody administers because a provider says so`,
);

/** The fields of a provider, in the order of the reference and of the declared state that is written. */
export const providerFields = {
  name: field({
    schema: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be a slug of lower-case letters, digits and dashes'),
    stored: 'text',
    reference: 'slug, unique within the tenant; who signed in with it is known by it, so keep it',
  }),
  preset: field({
    schema: z.enum(presetNames).default('none'),
    stored: 'text',
    reference: 'defaults for other keys: `none` (default), `google`, `entra`, `okta`, `keycloak`, `tessera`',
  }),
  issuer: field({
    schema: callbackUri.max(512).refine((uri) => !uri.includes('?'), 'must not have a query'),
    stored: 'text',
    reference: 'its issuer identifier (OIDC Discovery §3), exactly; with `preset: google` already known',
  }),
  clientId: field({ schema: line(512), stored: 'text', reference: 'as which Tessera is registered there' }),
  displayName: field({
    schema: line(100),
    stored: 'text',
    reference: 'what people read; without it the name of the preset, or `name`',
  }),
  scopes: field({
    schema: z
      .array(z.string().max(128).refine(isScopeToken, 'must be a scope'))
      .max(50)
      .refine((scopes) => scopes.includes('openid'), 'must have openid')
      .default(['openid', 'profile', 'email']),
    stored: 'text[]',
    reference: 'what is asked for: `openid`, `profile`, `email` by default',
  }),
  domains: field({
    schema: z.array(emailDomain).max(100).default([]),
    stored: 'text[]',
    reference:
      'domains of e-mail addresses, such as `acme.example` or `xn--bcher-kva.example` (for bücher.example), without those below them; each of one provider of the tenant',
  }),
  linking: field({
    schema: z.enum(['never', 'verified-email']).default('never'),
    stored: 'text',
    reference:
      'whether a first sign-in may be that of a person whom the tenant knows already: `never` (default: they link it at `/account`), or `verified-email`: if both say that the e-mail address is verified, a link that was mailed there or this provider has proved that it is theirs, it is of `domains` (without any: neither of, nor below, those of another provider), and the person has no built-in role',
  }),
  createsAccounts: field({
    schema: z.boolean().default(false),
    stored: 'boolean',
    reference: '`true`: who is not known gets an account, with the e-mail address if it is verified',
  }),
  roleMappings: field({
    schema: z
      .array(z.strictObject({ claim, value: line(256), role: mappedRole }))
      .max(200)
      .default([]),
    stored: 'jsonb',
    reference:
      'list of `{claim, value, role}`: who has the value has the role, and nobody else who signs in with the provider; no built-in roles. Set at each sign-in, and taken away with the last mapping of the role, or with the provider, unless a file declares the person',
  }),
  attributeMappings: field({
    schema: z.record(attributeName, claim).default({}),
    stored: 'jsonb',
    reference: 'attributes with the claims that they are set from, as the roles are',
  }),
  trustsFactors: field({
    schema: z.boolean().default(false),
    stored: 'boolean',
    reference: '`true`: the methods that it names (`amr`) count, so that its second factor is one',
  }),
  signsOut: field({
    schema: z.boolean().default(false),
    stored: 'boolean',
    reference:
      '`true`: who signs out here is signed out there, too (OIDC RP-Initiated Logout); register `<issuer>/logout/provider` there',
  }),
};

/** Only with a new provider, and where it has another issuer or client, is the secret required. */
const clientSecret: Key = {
  schema: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
    .optional(),
  reference:
    'of the client there; in its place `clientSecretFromEnv` or `clientSecretFromFile`. Left out: stays as it is, unless `issuer` or `clientId` change',
};

/** These have defaults that depend on other keys. */
const declaredKeys = {
  ...providerFields,
  issuer: { ...providerFields.issuer, schema: providerFields.issuer.schema.optional() },
  displayName: { ...providerFields.displayName, schema: providerFields.displayName.schema.optional() },
  clientSecret: { ...clientSecret, schema: clientSecret.schema as z.ZodOptional<z.ZodString> },
};

/** A provider in the declared state, with the values of its preset. */
export const provider = z.strictObject(shapeOf(declaredKeys)).transform((declared, context) => {
  const preset = presets[declared.preset];
  const issuer = declared.issuer ?? preset.issuer;
  const problem = issuer === undefined ? 'is required' : preset.issuerProblem?.(issuer);
  if (problem !== undefined) context.addIssue({ code: 'custom', path: ['issuer'], message: problem });
  const displayName = declared.displayName ?? preset.displayName ?? declared.name;
  return { ...declared, issuer: issuer ?? '', displayName };
});
export const providerReference = referenceOf(declaredKeys);
export type DeclaredProvider = z.output<typeof provider>;

export interface ProviderRecord extends RecordOf<typeof providerFields> {
  /** The client secret, encrypted. */
  readonly sealedSecret: string;
  /** Who changes the record. */
  readonly owner: string;
}

export const providerColumns = columnsOf<ProviderRecord>(
  { ...providerFields, sealedSecret: { stored: 'text' }, owner: { stored: 'text' } },
  'name',
  'p',
);
