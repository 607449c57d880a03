import { z } from 'zod';

/** Keycloak reads numbers and truth values as texts, and texts as them. */
const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((value) => value === 'true')]);
const number = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d+$/)
    .transform(Number),
]);
const names = z.array(text).default([]);
const namesByClient = z.record(z.string(), names).default({});
/** One text stands for a list of it. */
const lists = z
  .record(z.string(), z.union([z.array(text), text.transform((one): string[] => [one])]))
  .default({});
/** Only texts mean something here. */
const texts = z
  .record(z.string(), z.unknown())
  .default({})
  .transform((values): Readonly<Partial<Record<string, string>>> => {
    const entries = Object.entries(values);
    return Object.fromEntries(
      entries.flatMap(([key, value]) => {
        const read = text.safeParse(value);
        return read.success ? [[key, read.data]] : [];
      }),
    );
  });

const mapper = z.object({ name: text.default(''), protocolMapper: text, config: texts });
const mappers = z.array(mapper).default([]);

const role = z.object({
  name: text,
  composites: z.object({ realm: names, client: namesByClient }).optional(),
});

const group = z.object({
  name: text,
  realmRoles: names,
  clientRoles: namesByClient,
  get subGroups(): z.ZodDefault<z.ZodArray<typeof group>> {
    return z.array(group).default([]);
  },
});

const credential = z.object({
  type: text.default(''),
  secretData: text.default(''),
  credentialData: text.default(''),
  // A password in plain text, as people write it into a file.
  value: text.default(''),
  temporary: flag.default(false),
  // Before Keycloak 8.
  hashedSaltedValue: text.default(''),
  salt: text.default(''),
  hashIterations: number.default(0),
  algorithm: text.default('pbkdf2'),
  digits: number.default(0),
  period: number.default(0),
});

export const user = z.object({
  id: text.default(''),
  username: text.default(''),
  email: text.default(''),
  emailVerified: flag.default(false),
  firstName: text.default(''),
  lastName: text.default(''),
  // As Keycloak reads it.
  enabled: flag.default(false),
  attributes: lists,
  credentials: z.array(credential).default([]),
  federatedIdentities: z.array(z.object({ identityProvider: text, userId: text.default('') })).default([]),
  // Present if a federation has the person, such as the identifier of an LDAP server.
  federationLink: text.default(''),
  requiredActions: names,
  realmRoles: names,
  clientRoles: namesByClient,
  // The former name of the same.
  applicationRoles: namesByClient,
  groups: names,
  serviceAccountClientId: text.optional(),
});

const client = z.object({
  clientId: text,
  name: text.default(''),
  rootUrl: text.default(''),
  enabled: flag.default(true),
  protocol: text.default('openid-connect'),
  publicClient: flag.default(false),
  bearerOnly: flag.default(false),
  consentRequired: flag.default(false),
  fullScopeAllowed: flag.optional(),
  standardFlowEnabled: flag.default(true),
  implicitFlowEnabled: flag.default(false),
  directAccessGrantsEnabled: flag.default(false),
  serviceAccountsEnabled: flag.default(false),
  authorizationServicesEnabled: flag.default(false),
  authorizationSettings: z.unknown().optional(),
  authenticationFlowBindingOverrides: texts,
  clientAuthenticatorType: text.default('client-secret'),
  secret: text.default(''),
  redirectUris: names,
  attributes: texts,
  protocolMappers: mappers,
  defaultClientScopes: z.array(text).optional(),
  optionalClientScopes: z.array(text).optional(),
});

const clientScope = z.object({
  name: text,
  description: text.default(''),
  protocol: text.default('openid-connect'),
  protocolMappers: mappers,
});

const scopeMapping = z.object({ client: text.default(''), clientScope: text.default(''), roles: names });

const execution = z.object({
  authenticator: text.default(''),
  requirement: text.default(''),
  flowAlias: text.default(''),
});

const flow = z.object({
  id: text.default(''),
  alias: text.default(''),
  authenticationExecutions: z.array(execution).default([]),
});

const identityProvider = z.object({
  alias: text,
  providerId: text.default(''),
  displayName: text.default(''),
  enabled: flag.default(true),
  linkOnly: flag.default(false),
  hideOnLogin: flag.default(false),
  organizationId: text.default(''),
  firstBrokerLoginFlowAlias: text.default(''),
  postBrokerLoginFlowAlias: text.default(''),
  config: texts,
});

const providerMapper = z.object({
  name: text.default(''),
  identityProviderAlias: text.default(''),
  identityProviderMapper: text.default(''),
  config: texts,
});

/** What is read of a realm representation of Keycloak 26. What becomes of other keys says `known-keys.ts`. */
export const realm = z.object({
  realm: text,
  displayName: text.default(''),
  enabled: flag.default(true),
  verifyEmail: flag.default(false),
  accessTokenLifespan: number.default(300),
  // Keycloak's own without them.
  ssoSessionIdleTimeout: number.default(1800),
  ssoSessionMaxLifespan: number.default(36_000),
  clientSessionIdleTimeout: number.default(0),
  clientSessionMaxLifespan: number.default(0),
  offlineSessionIdleTimeout: number.default(0),
  offlineSessionMaxLifespanEnabled: flag.default(false),
  offlineSessionMaxLifespan: number.default(0),
  clientOfflineSessionIdleTimeout: number.default(0),
  clientOfflineSessionMaxLifespan: number.default(0),
  webAuthnPolicyPasswordlessRpId: text.default(''),
  webAuthnPolicyPasswordlessPasskeysEnabled: flag.default(false),
  browserFlow: text.default(''),
  firstBrokerLoginFlow: text.default(''),
  authenticationFlows: z.array(flow).default([]),
  defaultRole: z.object({ name: text }).optional(),
  roles: z
    .object({ realm: z.array(role).default([]), client: z.record(z.string(), z.array(role)).default({}) })
    .default({ realm: [], client: {} }),
  groups: z.array(group).default([]),
  // They are read one by one.
  users: z.array(z.never()).default([]),
  clients: z.array(client).default([]),
  clientScopes: z.array(clientScope).optional(),
  defaultDefaultClientScopes: z.array(text).optional(),
  defaultOptionalClientScopes: z.array(text).optional(),
  scopeMappings: z.array(scopeMapping).default([]),
  clientScopeMappings: z.record(z.string(), z.array(scopeMapping)).default({}),
  identityProviders: z.array(identityProvider).default([]),
  identityProviderMappers: z.array(providerMapper).default([]),
  components: z.record(z.string(), z.array(z.object({ name: text.default('') }))).default({}),
});

export type Realm = z.infer<typeof realm>;
export type Role = z.infer<typeof role>;
export type Group = z.infer<typeof group>;
export type User = z.infer<typeof user>;
export type Client = z.infer<typeof client>;
export type Credential = z.infer<typeof credential>;
export type ClientScope = z.infer<typeof clientScope>;
export type Mapper = z.infer<typeof mapper>;
export type IdentityProvider = z.infer<typeof identityProvider>;
export type ProviderMapper = z.infer<typeof providerMapper>;
export type Flow = z.infer<typeof flow>;
