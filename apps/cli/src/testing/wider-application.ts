import type { RolesInExport } from './roles-in-export.ts';
import { flag, list, node, text, texts, type Node } from './values-in-export.ts';

/** A client, and what it is compared with. */
interface OfClient {
  readonly realm: Node;
  readonly client: Node;
  readonly roles: RolesInExport;
  /** Redirect URIs that were said by hand. */
  readonly given: readonly string[];
}

type Finding = readonly [what: string, isWider: boolean];

/** What an application may do and the client of the export may not. */
export function widerApplication(of: OfClient, application: Node): string[] {
  const { realm, client } = of;
  if (text(application['status']) === 'disabled') return [];
  const grants = texts(application['grantTypes']);
  const hasPeople = grants.some((grant) => grant !== 'client_credentials');
  const findings: Finding[] = [
    ['is not disabled', !flag(client['enabled'] ?? true) || !flag(realm['enabled'] ?? true)],
    ...widerProof(client, application),
    ...widerGrants(client, grants),
    ...widerRedirects(of, application),
    ...widerScopes(of, application),
  ];
  if (hasPeople) {
    findings.push(
      ['asks nobody', flag(client['consentRequired']) && !flag(application['thirdParty'])],
      ...widerRoles(of, application),
      [
        'needs no second factor',
        asksForFactor(realm, client) && application['authenticationPolicy'] === undefined,
      ],
    );
  }
  return findings.flatMap(([what, isWider]) => (isWider ? [what] : []));
}

/** What proves who asks, and whose tokens are. */
function widerProof(client: Node, application: Node): Finding[] {
  const attributes = node(client['attributes']);
  const isPublic = flag(client['publicClient']);
  const way = text(client['clientAuthenticatorType'] ?? 'client-secret');
  const needed = ['dpop.bound.access.tokens', 'require.pushed.authorization.requests'];
  const certificates = [
    'tls.client.certificate.bound.access.tokens',
    'tls-client-certificate-bound-access-tokens',
  ];
  return [
    ['is public', text(application['type']) === 'public' && !isPublic],
    ['proves itself by a secret alone', !isPublic && !/^client-secret(-jwt)?$/.test(way)],
    ...[...needed, ...certificates].map((key): Finding => [`lacks ${key}`, flag(attributes[key])]),
    [
      'needs no code challenge',
      text(attributes['pkce.code.challenge.method']) === 'S256' && application['pkce'] === 'optional',
    ],
  ];
}

function widerGrants(client: Node, grants: readonly string[]): Finding[] {
  const attributes = node(client['attributes']);
  const isPublic = flag(client['publicClient']);
  const had: Readonly<Record<string, boolean>> = {
    authorization_code: flag(client['standardFlowEnabled'] ?? true),
    client_credentials: flag(client['serviceAccountsEnabled']) && !isPublic,
    device_code: flag(attributes['oauth2.device.authorization.grant.enabled']),
    ciba: flag(attributes['oidc.ciba.grant.enabled']) && !isPublic,
    refresh_token: text(attributes['use.refresh.tokens']) !== 'false',
  };
  return grants.map((grant) => [`has the grant ${grant}`, had[grant] !== true]);
}

function widerRedirects({ client, given }: OfClient, application: Node): Finding[] {
  const root = text(client['rootUrl']).replace(/\/$/, '');
  const whole = (uri: string) => (uri.startsWith('/') ? `${root}${uri}` : uri);
  const had = texts(client['redirectUris']).map(whole);
  const declared = text(node(client['attributes'])['post.logout.redirect.uris']).split('##');
  const hadForLogout = [...declared.map(whole), ...(declared.includes('+') ? had : [])];
  const accepts = (patterns: readonly string[], uri: string) =>
    given.includes(uri) || patterns.some((pattern) => matches(pattern, uri));
  const more = (key: string, patterns: readonly string[]) =>
    texts(application[key]).map((uri): Finding => [`${key} has ${uri}`, !accepts(patterns, uri)]);
  const prefixes = (key: string, patterns: readonly string[]) =>
    texts(application[key]).map((uri): Finding => [`${key} has ${uri}`, !patterns.includes(`${uri}*`)]);
  const loopback = texts(application['redirectUris']).filter((uri) => uri.startsWith('http:'));
  return [
    ...more('redirectUris', had),
    ...more('logoutRedirectUris', hadForLogout),
    ...prefixes('redirectUriPrefixes', had),
    ...prefixes('logoutRedirectUriPrefixes', hadForLogout),
    [
      'takes any port',
      application['loopbackPorts'] === 'any' && loopback.some((uri) => /^http:\/\/[^/]*:\d+(\/|$)/.test(uri)),
    ],
  ];
}

/** As Keycloak compares: a star at the end stands for anything, and after a slash for its absence, too. */
function matches(pattern: string, uri: string): boolean {
  if (!pattern.endsWith('*') || pattern.includes('?')) return pattern === uri;
  const begin = pattern.slice(0, -1);
  return uri.startsWith(begin) || (begin.endsWith('/') && uri === begin.slice(0, -1));
}

/** The scopes of a client: without lists of its own those of the realm, or those that a new realm gives. */
function scopesOf({ realm, client }: Pick<OfClient, 'realm' | 'client'>): {
  readonly always: readonly string[];
  readonly asked: readonly string[];
} {
  const lists = (of: Node, always: string, asked: string) =>
    of[always] === undefined && of[asked] === undefined
      ? undefined
      : { always: texts(of[always]), asked: texts(of[asked]) };
  return (
    lists(client, 'defaultClientScopes', 'optionalClientScopes') ??
    lists(realm, 'defaultDefaultClientScopes', 'defaultOptionalClientScopes') ?? {
      always: realm['clientScopes'] === undefined ? ['profile', 'email', 'roles'] : [],
      asked: realm['clientScopes'] === undefined ? ['address', 'phone', 'offline_access'] : [],
    }
  );
}

function widerScopes(of: OfClient, application: Node): Finding[] {
  const { realm, client } = of;
  const { always, asked } = scopesOf(of);
  const had = new Set(['openid', ...always, ...asked]);
  const mappers = [
    ...list(client['protocolMappers']),
    ...list(realm['clientScopes'])
      .filter(({ name }) => always.includes(text(name)))
      .flatMap(({ protocolMappers }) => list(protocolMappers)),
  ];
  const audiences = new Set([
    'account',
    ...mappers
      .map(({ config }) => node(config))
      .flatMap((config) => [
        text(config['included.client.audience']),
        text(config['included.custom.audience']),
      ]),
  ]);
  const clients = new Set(Object.keys(node(node(realm['roles'])['client'])));
  const lifetime = [node(client['attributes'])['access.token.lifespan'], realm['accessTokenLifespan'], 300]
    .map(Number)
    .find((seconds) => seconds > 0);
  const { accessToken } = node(application['lifetimes']);
  return [
    ...texts(application['scopes']).map((scope): Finding => [`has the scope ${scope}`, !had.has(scope)]),
    ...texts(application['defaultScopes']).map((scope): Finding => [
      `gets the scope ${scope} without asking`,
      !always.includes(scope),
    ]),
    ...texts(application['audiences']).map((audience): Finding => {
      const isOfRoles = audience.endsWith(':*') && clients.has(audience.slice(0, -2));
      return [`has the audience ${audience}`, !isOfRoles && !audiences.has(audience)];
    }),
    ['has tokens that live longer', Number(accessToken ?? 0) > Number(lifetime)],
  ];
}

/** Roles of people that its tokens may not have. */
function widerRoles(of: OfClient, application: Node): Finding[] {
  const { realm, client, roles } = of;
  if (flag(client['fullScopeAllowed'] ?? !flag(client['consentRequired']))) return [];
  const clientId = text(client['clientId']);
  const { always, asked } = scopesOf(of);
  const scopes = new Set([...always, ...asked]);
  const mapped = (mappings: unknown) =>
    list(mappings)
      .filter((each) => text(each['client']) === clientId || scopes.has(text(each['clientScope'])))
      .flatMap((each) => texts(each['roles']));
  const own = list(node(node(realm['roles'])['client'])[clientId]).map(({ name }) => text(name));
  const clientRoles = new Map(
    Object.entries(node(realm['clientScopeMappings'])).map(([name, mappings]) => [name, mapped(mappings)]),
  );
  clientRoles.set(clientId, [...(clientRoles.get(clientId) ?? []), ...own]);
  const had = new Set(
    roles.held({ realmRoles: mapped(realm['scopeMappings']), clientRoles: Object.fromEntries(clientRoles) }),
  );
  const limit = application['roles'];
  if (!Array.isArray(limit)) return [['has all roles of people', true]];
  return texts(limit)
    .filter((role) => role !== 'keycloak:no-roles')
    .map((role) => [`has the role ${role} of people`, !had.has(roles.meant(role))]);
}

const steps = new Set(['auth-otp-form', 'webauthn-authenticator', 'webauthn-authenticator-passwordless']);
/** Ways in that are none here. */
const elsewhere = new Set(['auth-cookie', 'auth-spnego', 'identity-provider-redirector']);

/** Whether everybody who signs in to a client is asked for more than a password. */
function asksForFactor(realm: Node, client: Node): boolean {
  const flows = list(realm['authenticationFlows']);
  const override = text(node(client['authenticationFlowBindingOverrides'])['browser']);
  const named = (name: string) =>
    flows.find(({ alias }) => text(alias) === name) ?? flows.find(({ id }) => text(id) === name);
  const asks = (flow: Node | undefined, depth: number): boolean => {
    const all = list(flow?.['authenticationExecutions']);
    const does = (each: Node): boolean =>
      steps.has(text(each['authenticator'])) ||
      (depth < 20 && text(each['flowAlias']) !== '' && asks(named(text(each['flowAlias'])), depth + 1));
    const required = all.filter(({ requirement }) => requirement === 'REQUIRED');
    if (required.length > 0) return required.some(does);
    const ways = all.filter(
      ({ requirement, authenticator }) =>
        requirement === 'ALTERNATIVE' && !elsewhere.has(text(authenticator)),
    );
    return ways.length > 0 && ways.every(does);
  };
  const name = override === '' ? text(realm['browserFlow']) : override;
  return name !== '' && asks(named(name), 0);
}
