import { z } from 'zod';
import { CommandError } from '../../terminal.ts';

const names = z.array(z.string()).default([]);
const namesByClient = z.record(z.string(), names).default({});
const lists = z.record(z.string(), z.array(z.string())).default({});
/** Only texts mean something here. */
const texts = z
  .record(z.string(), z.unknown())
  .default({})
  .transform((values): Readonly<Partial<Record<string, string>>> => {
    const entries = Object.entries(values);
    return Object.fromEntries(
      entries.flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
    );
  });

const mapper = z.object({ name: z.string(), protocolMapper: z.string(), config: texts });
const mappers = z.array(mapper).default([]);

const role = z.object({
  name: z.string(),
  composites: z.object({ realm: names, client: namesByClient }).optional(),
});

const group = z.object({
  name: z.string(),
  realmRoles: names,
  clientRoles: namesByClient,
  get subGroups(): z.ZodDefault<z.ZodArray<typeof group>> {
    return z.array(group).default([]);
  },
});

const credential = z.object({
  type: z.string(),
  secretData: z.string().default(''),
  credentialData: z.string().default(''),
});

const user = z.object({
  id: z.string().default(''),
  username: z.string(),
  email: z.string().default(''),
  emailVerified: z.boolean().default(false),
  firstName: z.string().default(''),
  lastName: z.string().default(''),
  // As Keycloak reads it.
  enabled: z.boolean().default(false),
  attributes: lists,
  credentials: z.array(credential).default([]),
  federatedIdentities: z.array(z.object({ identityProvider: z.string() })).default([]),
  // Present if a federation has the person, such as the identifier of an LDAP server.
  federationLink: z.string().default(''),
  requiredActions: names,
  realmRoles: names,
  clientRoles: namesByClient,
  groups: names,
  serviceAccountClientId: z.string().optional(),
});

const client = z.object({
  clientId: z.string(),
  name: z.string().default(''),
  rootUrl: z.string().default(''),
  enabled: z.boolean().default(true),
  protocol: z.string().default('openid-connect'),
  publicClient: z.boolean().default(false),
  bearerOnly: z.boolean().default(false),
  consentRequired: z.boolean().default(false),
  standardFlowEnabled: z.boolean().default(true),
  implicitFlowEnabled: z.boolean().default(false),
  directAccessGrantsEnabled: z.boolean().default(false),
  serviceAccountsEnabled: z.boolean().default(false),
  authorizationServicesEnabled: z.boolean().default(false),
  clientAuthenticatorType: z.string().default('client-secret'),
  secret: z.string().default(''),
  redirectUris: names,
  attributes: texts,
  protocolMappers: mappers,
  defaultClientScopes: names,
  optionalClientScopes: names,
});

const clientScope = z.object({
  name: z.string(),
  description: z.string().default(''),
  protocol: z.string().default('openid-connect'),
  protocolMappers: mappers,
});

/** What is read of a realm representation of Keycloak 26. Other keys are ignored. */
const realm = z.object({
  realm: z.string(),
  displayName: z.string().default(''),
  accessTokenLifespan: z.number().optional(),
  defaultRole: z.object({ name: z.string() }).optional(),
  roles: z
    .object({ realm: z.array(role).default([]), client: z.record(z.string(), z.array(role)).default({}) })
    .default({ realm: [], client: {} }),
  groups: z.array(group).default([]),
  users: z.array(user).default([]),
  clients: z.array(client).default([]),
  clientScopes: z.array(clientScope).default([]),
  identityProviders: z.array(z.object({ alias: z.string() })).default([]),
  components: z.record(z.string(), z.array(z.object({ name: z.string().default('') }))).default({}),
});

export type Realm = z.infer<typeof realm>;
export type Role = z.infer<typeof role>;
export type Group = z.infer<typeof group>;
export type User = z.infer<typeof user>;
export type Client = z.infer<typeof client>;
export type Credential = z.infer<typeof credential>;
export type Mapper = z.infer<typeof mapper>;

/** Called with a line for each thing that is left out. */
export type Report = (line: string) => void;

/** What every realm has, for Keycloak itself. */
export const ownClients: ReadonlySet<string> = new Set([
  'account',
  'account-console',
  'admin-cli',
  'broker',
  'realm-management',
  'security-admin-console',
]);

/** The client scopes that every realm has; those that are scopes here too come with the clients. */
export const ownScopes: ReadonlySet<string> = new Set([
  'acr',
  'address',
  'basic',
  'email',
  'microprofile-jwt',
  'offline_access',
  'organization',
  'phone',
  'profile',
  'role_list',
  'roles',
  'saml_organization',
  'service_account',
  'web-origins',
]);

/**
 * Reads the files of one export: one with everything, or that of the realm and those of its users. Throws CommandError.
 */
export function readRealm(files: readonly { readonly name: string; readonly text: string }[]): Realm {
  const read = files.map(({ name, text }) => {
    const parsed = realm.safeParse(jsonOf(name, text));
    if (parsed.success) return parsed.data;
    const path = parsed.error.issues[0]?.path.join('.') ?? '';
    const where = path === '' ? '' : ` (${path})`;
    throw new CommandError(`${name} is no export of a realm of Keycloak${where}.`);
  });
  const whole = read.find(({ clients }) => clients.length > 0);
  if (whole === undefined) throw new CommandError('No file has the clients of the realm.');
  if (read.some((each) => each.realm !== whole.realm))
    throw new CommandError('The files are of several realms.');
  return { ...whole, users: read.flatMap(({ users }) => users) };
}

/** Throws CommandError without the message of the parser, which repeats a part of the text. */
function jsonOf(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError(`${name} is not JSON, so it is no export of a realm of Keycloak.`);
  }
}
