import { parseDuration } from '@tessera/process';
import {
  grantTypes,
  isScopeToken,
  logoutRedirectUriProblem,
  redirectUriProblem,
  scopesWithClaims,
} from '@tessera/oauth';
import { z } from 'zod';
import { isPasswordHash } from '../passwords/phc.ts';
import { attributes, claims } from './custom-claims.ts';
import { standardClaims } from './standard-claims.ts';
import { line } from './text.ts';
import { tenantIssuerProblem } from './tenant-issuer.ts';

/** Longest password that is hashed, in UTF-16 code units. */
export const longestPassword = 1024;
/** Shortest client secret, in characters. */
const shortestSecret = 32;

function uri(problemOf: (uri: string) => string | undefined) {
  return z.string().superRefine((value, context) => {
    const problem = problemOf(value);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: sentence(problem) });
  });
}

/** Webhook and notification endpoints: the rules of redirect URIs, http and https only. */
function webhookProblem(value: string): string | undefined {
  return /^https?:/.test(value) ? redirectUriProblem(value) : 'must be an https URL';
}

function sentence(problem: string): string {
  return problem.replace(/^It must/, 'must').replace(/\.$/, '');
}

/** Seconds, as a whole number or a text such as `10m`; `longest` is in that form too. */
function lifetime(longest: string, reason = '') {
  return z
    .unknown()
    .transform((value, context) => {
      const seconds = typeof value === 'string' ? parseDuration(value) : value;
      const isWhole = typeof seconds === 'number' && Number.isInteger(seconds) && seconds > 0;
      if (isWhole && seconds <= (parseDuration(longest) ?? 0)) return seconds;
      const message = isWhole
        ? `must be at most ${longest}${reason}`
        : 'must be a duration such as 30s, 10m, 12h or 30d, of at least one second';
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    })
    .optional();
}

const outlivedByKeys = ', so that no token outlives the key that signed it';

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

const secret = z.strictObject({
  value: z
    .string()
    .min(shortestSecret)
    .max(256)
    .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII'),
  expiresAt: z.iso
    .datetime({ offset: true, error: 'must be a time such as 2030-01-31T12:00:00Z' })
    .transform((text) => Date.parse(text))
    .optional(),
});

export const application = z.strictObject({
  clientId: z
    .string()
    .max(128)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._:@/~+-]*$/, 'must consist of letters, digits and . _ : @ / ~ + -')
    .refine((id) => !id.startsWith('usr_'), 'must not begin with usr_, which is for users'),
  name: line(200),
  type: z.enum(['public', 'confidential']),
  status: z.enum(['active', 'disabled']).optional(),
  secrets: z.array(secret).max(2).default([]),
  grantTypes: z.array(z.enum(grantTypes.map((entry) => entry.name))).min(1),
  redirectUris: z.array(uri(redirectUriProblem)).max(100).default([]),
  logoutRedirectUris: z.array(uri(logoutRedirectUriProblem)).max(100).default([]),
  scopes: z.array(z.string()).default([]),
  introspectAudiences: z.array(z.string()).default([]),
  lifetimes: z
    .strictObject({
      accessToken: lifetime('1d', outlivedByKeys),
      idToken: lifetime('1d', outlivedByKeys),
      refreshTokenIdle: lifetime('3650d'),
      refreshTokenAbsolute: lifetime('3650d'),
      authorizationRequest: lifetime('1h'),
      authorizationCode: lifetime('10m'),
      pollInterval: lifetime('60s'),
    })
    .default({}),
  ciba: z
    .strictObject({
      approval: z.enum(['page', 'webhook']),
      url: uri(webhookProblem).optional(),
      delivery: z.enum(['poll', 'ping', 'push']).optional(),
      notificationEndpoint: uri(webhookProblem).optional(),
    })
    .optional(),
  authenticatedStart: z.enum(['optional', 'required']).default('optional'),
  // Never empty: to admit nobody, disable the application.
  allowedRoles: z.array(z.string()).min(1).optional(),
  pkce: z.enum(['required', 'optional']).default('required'),
  backchannelLogoutUri: uri(webhookProblem).optional(),
  backchannelLogoutSessionRequired: z.boolean().default(false),
  claims,
  idTokenClaims: z.array(z.enum(scopesWithClaims)).default([]),
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
export type DeclaredApplication = DeclaredTenant['applications'][number];
