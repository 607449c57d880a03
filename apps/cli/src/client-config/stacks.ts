/** A client library or product with the configuration that works with Tessera. The snippet is `snippets/<id>.txt`. */
export interface Stack {
  readonly id: string;
  readonly title: string;
  /** Where its users keep the snippet. */
  readonly file: string;
  /** It signs people in with the authorization code grant. */
  readonly signsIn?: true;
  /** The type of the applications that it can be; absent: it is the same for both. */
  readonly type?: 'public' | 'confidential';
  /** It uses ID tokens alone: no scopes of API resources. */
  readonly idTokensOnly?: true;
  /** It introspects access tokens. */
  readonly introspects?: true;
  /** Path of the redirect URI where the stack prescribes it, or the whole of it. */
  readonly callbackPath?: string;
  readonly redirectUri?: string;
  /** It sends no code challenge: the application declares `pkce: optional`. */
  readonly withoutPkce?: true;
  /** It tells people apart by their e-mail address. */
  readonly needsEmail?: true;
  /** The `tokenType` of the API resources that it accepts. */
  readonly tokenType?: 'JWT';
  /** It accepts no issuer with plain http. */
  readonly needsHttps?: true;
  /** What the snippet says beyond issuer, client identifier and secret, and why. */
  readonly note?: string;
}

/** A server that keeps a secret and signs people in. */
const confidential = { signsIn: true, type: 'confidential' } as const;

/** All stacks, in the order of the documentation. */
export const stacks: readonly Stack[] = [
  {
    id: 'auth-js',
    title: 'Auth.js',
    file: 'auth.config.js',
    ...confidential,
    callbackPath: '/auth/callback/tessera',
    note: '`idToken: false` reads names and e-mail addresses at /userinfo: the ID token has none.',
  },
  {
    id: 'passport',
    title: 'passport-openidconnect',
    file: 'strategy.js',
    ...confidential,
    withoutPkce: true,
    note: 'It reads no discovery document: the endpoints are given.',
  },
  {
    id: 'express-openid-connect',
    title: 'express-openid-connect',
    file: 'oidc.config.js',
    ...confidential,
    callbackPath: '/callback',
    note: 'Its default is the implicit flow: `response_type` asks for a code.',
  },
  {
    id: 'authlib',
    title: 'Authlib',
    file: 'tessera.py',
    ...confidential,
    note: 'It sends a code challenge only if asked to.',
  },
  {
    id: 'requests-oauthlib',
    title: 'requests-oauthlib',
    file: 'tessera.py',
    ...confidential,
    note: 'It reads no discovery document by itself.',
  },
  {
    id: 'mozilla-django-oidc',
    title: 'mozilla-django-oidc',
    file: 'oidc_settings.py',
    ...confidential,
    callbackPath: '/oidc/callback/',
    needsEmail: true,
    note: 'It reads no discovery document, expects HS256 and sends a code challenge only if asked to.',
  },
  {
    id: 'flask-oidc',
    title: 'flask-oidc',
    file: 'oidc_settings.py',
    ...confidential,
    callbackPath: '/authorize',
    withoutPkce: true,
    note: 'Its default scopes leave out the profile.',
  },
  { id: 'go-oidc', title: 'go-oidc with x/oauth2', file: 'tessera.go', ...confidential },
  {
    id: 'kubelogin',
    title: 'kubelogin',
    file: 'kubeconfig.yaml',
    signsIn: true,
    type: 'public',
    idTokensOnly: true,
    redirectUri: 'http://localhost:8000',
    note: 'A public application: a kubeconfig holds no secret. For the device flow add --grant-type=device-code.',
  },
  {
    id: 'oauth2-proxy',
    title: 'oauth2-proxy',
    file: 'oauth2-proxy.cfg',
    ...confidential,
    callbackPath: '/oauth2/callback',
    needsEmail: true,
    note: 'It sends a code challenge only if asked to.',
  },
  {
    id: 'spring-boot',
    title: 'Spring Boot 4: client',
    file: 'application.yaml',
    ...confidential,
    callbackPath: '/login/oauth2/code/tessera',
  },
  {
    id: 'spring-boot-jwt',
    title: 'Spring Boot: resource server that verifies',
    file: 'application-jwt.yaml',
    tokenType: 'JWT',
    note: 'Declare tokenType: JWT and scopeFormat: string for the API resource.',
  },
  {
    id: 'spring-boot-opaque',
    title: 'Spring Boot: resource server that introspects',
    file: 'application-opaque.yaml',
    type: 'confidential',
    introspects: true,
  },
  { id: 'rust', title: 'Rust openidconnect', file: 'src/tessera.rs', ...confidential },
  { id: 'go-api', title: 'Go: resource server with go-oidc', file: 'api.go' },
  { id: 'python-api', title: 'Python: resource server with PyJWT', file: 'tessera.py' },
  {
    id: 'dotnet',
    title: '.NET: client',
    file: 'Program.cs',
    ...confidential,
    callbackPath: '/signin-oidc',
  },
  { id: 'dotnet-api', title: '.NET: resource server', file: 'Program.cs' },
  { id: 'nginx', title: 'nginx auth_request', file: 'tessera.conf' },
  {
    id: 'caddy',
    title: 'Caddy forward_auth',
    file: 'tessera.caddyfile',
    note: 'Headers are deleted first: Caddy 2.10.0 to 2.11.1 keeps those that are empty in the answer (CVE-2026-30851).',
  },
  { id: 'traefik', title: 'Traefik forwardAuth', file: 'tessera.yaml' },
  { id: 'envoy', title: 'Envoy jwt_authn', file: 'envoy.yaml' },
  {
    id: 'kubernetes',
    title: 'Kubernetes API server',
    file: 'authentication.yaml',
    idTokensOnly: true,
    needsHttps: true,
  },
];
