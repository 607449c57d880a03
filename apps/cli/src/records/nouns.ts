import type { DescField, DescMessage, DescMethod, DescService, JsonObject } from '@bufbuild/protobuf';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import type { RecordKind } from '@tessera/directory';

export const verbs = ['list', 'get', 'create', 'update', 'delete', 'restore'] as const;
export type Verb = (typeof verbs)[number];
/** What is done to records: a verb, or `list --deleted`. */
export type Deed = Verb | 'listDeleted';

/** A kind of record as the command line knows it; its fields come from the message. */
export interface Noun {
  readonly name: RecordKind;
  readonly service: DescService;
  /** `an application` */
  readonly indefinite: string;
  /** The field that names a record of the tenant, and its option. */
  readonly key: string;
  readonly keyOption: string;
  /** The columns of a table, as the fields are called in JSON. */
  readonly columns: readonly string[];
  /** What fields are, but for those that several kinds have: in the words of libs/directory/README.md. */
  readonly help?: Readonly<Record<string, string>>;
  /** What a person types after the verb. */
  readonly examples: { readonly [V in Verb]?: readonly [string, ...string[]] };
  /** A new record, of which no field refers to another one; for a kind that has such. */
  readonly sample?: (name: string) => JsonObject;
}

const neededSignIns = 'what its sign-ins need: any, second-factor or phishing-resistant';

const byKind: { readonly [K in RecordKind]: Omit<Noun, 'name'> } = {
  tenant: {
    service: TenantsService,
    indefinite: 'a tenant',
    key: 'tenantId',
    keyOption: '--tenant <id>',
    columns: ['tenantId', 'name', 'status', 'issuer', 'owner'],
    help: {
      authenticationPolicy: neededSignIns,
      issuer: 'its own issuer; without it, it is served at the shared one',
      endpoints: 'by what paths the endpoints of its issuer are found: standard or keycloak',
      passkeyDomain: 'whose host passkeys are for: own or shared',
      registration: 'who may make an account: closed, invitation, domain or open',
      registrationDomains: 'domains of e-mail addresses, such as acme.example',
      accountClosing: 'whether people may close their accounts',
      signInMethods: 'ways to sign in besides the usual ones: mail-code-second, mail-code',
    },
    examples: {
      list: ['', '--search acme -o json'],
      get: ['demo'],
      create: ['acme --name Acme', 'acme --name Acme --authentication-policy second-factor'],
      update: ['acme --registration domain --registration-domains acme.example'],
      delete: ['acme', 'acme --take-over --everything-in acme --validate-only'],
    },
  },
  resource: {
    service: ResourcesService,
    indefinite: 'an API resource',
    key: 'audience',
    keyOption: '--audience <audience>',
    columns: ['audience', 'name', 'scopes', 'tokenType', 'signingAlgorithm', 'owner'],
    help: {
      shared: 'whether other tenants of the issuer may declare the audience too',
      scopes: 'what it may ask for',
      tokenType: 'typ of its access tokens: at+jwt or JWT',
      scopeFormat: 'scope of its access tokens: array or string',
      signingAlgorithm: 'alg of its access tokens: RS256 or ES256',
      roles: 'roles that its access tokens may have; without it all',
      assignableBy: 'who may give its scopes to applications: tenant, owner, or owners by name',
    },
    examples: {
      list: ['--tenant demo'],
      get: ['https://api.demo.example --tenant demo'],
      create: ['https://orders.example --tenant demo -f orders.yaml'],
      update: ['https://orders.example --tenant demo --signing-algorithm ES256'],
      delete: ['https://orders.example --tenant demo --validate-only --impact'],
    },
  },
  role: {
    service: RolesService,
    indefinite: 'a role',
    key: 'name',
    keyOption: '--name <name>',
    columns: ['name', 'owner'],
    examples: {
      list: ['--tenant demo'],
      get: ['clerk --tenant demo'],
      create: ['cashier --tenant demo'],
      delete: ['cashier --tenant demo'],
    },
    sample: (name) => ({ name }),
  },
  user: {
    service: UsersService,
    indefinite: 'a person',
    key: 'userId',
    keyOption: '--username <identifier>',
    columns: ['username', 'email', 'name', 'status', 'roles', 'lastSignInTime', 'owner', 'userId'],
    help: {
      username: 'the name to sign in with',
      email: 'e-mail address',
      name: 'full name',
      phoneNumber: 'phone number, such as +46701234567',
      roles: 'roles of the tenant and of administrators, in the order of the token',
      status: 'active, disabled or locked',
      emailVerified: 'whether the address is verified',
      phoneNumberVerified: 'whether the number is verified',
      password: 'password',
      passwordHash: 'PHC string or bcrypt hash in place of a password',
    },
    examples: {
      list: ['--tenant demo --search love', '--tenant demo --not-signed-in-since 90d --role clerk'],
      get: ['eve --tenant demo -o json'],
      create: [
        '--tenant demo --username eve --email eve@example.com --roles clerk',
        '--tenant demo --username eve --password-file ./password -o json',
      ],
      update: ['eve --tenant demo --roles clerk --clear email'],
      delete: ['eve --tenant demo', 'eve --tenant demo --validate-only --impact'],
      restore: ['eve --tenant demo'],
    },
  },
  application: {
    service: ApplicationsService,
    indefinite: 'an application',
    key: 'clientId',
    keyOption: '--client-id <id>',
    columns: ['clientId', 'name', 'type', 'status', 'grantTypes', 'owner'],
    help: {
      authenticationPolicy: neededSignIns,
      description: 'what it is for, in one line for people',
      publisher: 'who makes it, for people who are asked for consent',
      homepage: 'its https address, for people who are asked for consent',
      type: 'public or confidential',
      grantTypes: 'authorization_code, refresh_token, client_credentials, device_code, ciba, jwt_bearer',
      redirectUris: 'where people return after the sign-in',
      redirectUriPrefixes: 'beginnings of redirect URIs, at a tenant with the paths of Keycloak',
      logoutRedirectUriPrefixes: 'beginnings of redirect URIs after a logout, at such a tenant',
      loopbackPorts: 'ports of redirect URIs on this machine: exact or any',
      logoutRedirectUris: 'where people return after the sign-out; the first one is the fallback',
      scopes: 'what it may ask for',
      defaultScopes: 'of its scopes those that it gets whatever it asks for',
      audiences: 'further audiences of its access tokens, in a tenant with endpoints: keycloak',
      introspectAudiences: 'audiences of the API resources that it answers for',
      authenticatedStart:
        'whether it authenticates to start a device or backchannel request: optional or required',
      allowedRoles: 'roles of which people need one to use it; without it everybody may',
      roles: 'roles that its tokens may have; without it all',
      pkce: 'whether it needs a code challenge: required or optional',
      backchannelLogoutUri: 'https address that is told of ended sessions',
      backchannelLogoutSessionRequired: 'whether that address needs sid',
      jwksUri: 'https address of the public keys that it signs its assertions with',
      idTokenSigningAlgorithm: 'alg of its ID tokens and logout tokens: RS256 or ES256',
      idTokenClaims: 'scopes whose claims are in the ID token too: profile, email, phone, address',
      thirdParty: 'whether it asks people for their consent',
      owners: 'owners whose records its own access tokens may write; default: api',
    },
    examples: {
      list: ['--tenant demo', '--tenant demo --deleted'],
      get: ['demo-web --tenant demo'],
      create: [
        'billing --tenant demo --name Billing --type confidential --grant-types client_credentials --scopes orders.read',
      ],
      update: [
        'billing --tenant demo --scopes orders.read orders.write',
        'demo-web --tenant demo --take-over -f - < lifetimes.yaml',
      ],
      delete: ['billing --tenant demo'],
      restore: ['billing --tenant demo'],
    },
  },
};

export const nouns: readonly Noun[] = (Object.keys(byKind) as RecordKind[]).map((name) => ({
  name,
  ...byKind[name],
}));

/** The examples of all kinds, by the words of their commands. */
export const recordExamples: Readonly<Record<string, readonly [string, ...string[]]>> = Object.fromEntries(
  nouns.flatMap(({ name, examples }) =>
    Object.entries(examples).map(([verb, lines]) => [`${name} ${verb}`, lines] as const),
  ),
);

/** The method of a verb; undefined where the kind has none. */
export function methodOf({ service }: Noun, deed: Deed): DescMethod | undefined {
  const name = deed === 'restore' ? 'undelete' : deed;
  return service.methods.find(({ localName }) => localName === name);
}

/** The record that `get` answers. */
export function recordOf(noun: Noun): DescMessage {
  const method = methodOf(noun, 'get');
  if (method === undefined) throw new Error(`there is no method that reads ${noun.indefinite}`);
  return method.output;
}

/** The field of a request or an answer that has the record, or the records. */
export function fieldWith(message: DescMessage, record: DescMessage): DescField {
  const field = message.fields.find((candidate) => candidate.message?.typeName === record.typeName);
  if (field === undefined) throw new Error(`${message.typeName} has no ${record.typeName}`);
  return field;
}

const setByServer = new Set([
  'etag',
  'owner',
  'createTime',
  'updateTime',
  'deleteTime',
  'impact',
  'lastSignInTime',
  'lockExpireTime',
  'kind',
  'lastUseTime',
]);

/** The fields of a record that people set. */
export function settable(noun: Noun): readonly DescField[] {
  return recordOf(noun).fields.filter(
    ({ localName }) => !setByServer.has(localName) && localName !== noun.key,
  );
}
