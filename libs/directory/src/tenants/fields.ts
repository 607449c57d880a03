import { authenticationPolicies, endpointStyles, optionalMethods, weakestPolicy } from '@tessera/oauth';
import { z } from 'zod';
import { columnsOf } from '../fields/columns.ts';
import { field, type RecordOf } from '../fields/field.ts';
import { statusSent } from '../fields/status.ts';
import { emailDomain, line } from '../fields/values.ts';
import { tenantIssuerProblem } from './issuer.ts';
import { looks } from './looks.ts';

const methodReferences = Object.entries(optionalMethods).map(([name, allows]) => `\`${name}\`: ${allows}`);

/** The fields of a tenant, without its identifier. */
export const tenantFields = {
  name: field({ schema: line(200), stored: 'text', reference: 'text' }),
  status: field({
    schema: z.enum(['active', 'disabled']).optional(),
    initial: 'active',
    stored: 'text',
    sent: statusSent,
    reference: '`active`, `disabled`',
  }),
  issuer: field({
    schema: z
      .string()
      .max(512)
      .superRefine((value, context) => {
        const problem = tenantIssuerProblem(value);
        if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
      })
      .default(''),
    stored: 'text',
    reference:
      'its own issuer, `https://login.acme.example` or `https://id.example/t/acme` ([tenant issuers](../../docs/integrating.md#tenant-issuers)); ' +
      'without it the tenant is served at the shared one',
  }),
  endpoints: field({
    schema: z.enum(endpointStyles).default('standard'),
    stored: 'text',
    reference:
      'by what paths the endpoints of its own issuer are found: `standard` (default), or `keycloak`: also by those of Keycloak, `/protocol/openid-connect/token` ' +
      'and the others, which its metadata then name, and tokens that are as those of Keycloak; without `issuer` it has no effect ([moving](../../docs/migrating-from-keycloak.md))',
  }),
  authenticationPolicy: field({
    schema: z.enum(authenticationPolicies).default(weakestPolicy),
    stored: 'text',
    reference:
      'what every sign-in needs: `any` (default), `second-factor`: people without one set up an authenticator app when they sign in, or `phishing-resistant`: a passkey',
  }),
  passkeyDomain: field({
    schema: z.enum(['own', 'shared']).default('own'),
    stored: 'text',
    reference:
      'whose host passkeys are for: of its `own` issuer (default), or of the `shared` one, where its people had theirs before: they stay usable',
  }),
  registration: field({
    schema: z.enum(['closed', 'invitation', 'domain', 'open']).default('closed'),
    stored: 'text',
    reference:
      'who may make an account, where [mail](../../docs/configuration.md#mail) is sent: `closed` (default): nobody, `invitation`: people whom an ' +
      'administrator made and who have no password yet, `domain`: also who has an address of `registrationDomains`, or `open`: everybody',
  }),
  registrationDomains: field({
    schema: z.array(emailDomain).max(100).default([]),
    stored: 'text[]',
    // Nobody else asks for them.
    sent: () => ({}),
    reference: 'domains of e-mail addresses, such as `acme.example`',
  }),
  accountClosing: field({
    schema: z.boolean().default(false),
    stored: 'boolean',
    reference:
      'whether people may close their accounts at `/account` (default `false`); administrators restore them within 30 days',
  }),
  signInMethods: field({
    schema: z
      .array(
        z.enum(Object.keys(optionalMethods), {
          error: `must be one of ${Object.keys(optionalMethods).join(', ')}`,
        }),
      )
      .max(20)
      .default([]),
    stored: 'text[]',
    reference: ['ways to sign in besides the usual ones', ...methodReferences].join('; '),
  }),
  looks: field({
    schema: looks,
    stored: 'jsonb',
    // The gateway alone asks for them.
    sent: () => ({}),
    reference:
      '[looks of its pages](../../docs/operations.md#looks): `logo`, `data:image/png;base64,...` of at most 16 KiB; `accentColor` and ' +
      '`accentColorDark`, such as `"#3d52d5"`, each with a contrast of 4.5:1 or more; `tosUri`, `policyUri`',
  }),
};

/** The identifier of a tenant in the declared state. */
export const tenantId = {
  schema: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be a slug of lower-case letters, digits and dashes'),
  reference: 'slug: lower-case letters, digits, dashes',
};

export interface TenantRecord extends RecordOf<typeof tenantFields> {
  readonly tenantId: string;
  /** Who changes the record, but not what is in the tenant. */
  readonly owner: string;
}

export const tenantColumns = columnsOf<TenantRecord>(
  { tenantId: { stored: 'text' }, ...tenantFields, owner: { stored: 'text' } },
  'tenantId',
  't',
  'tenant.',
);
