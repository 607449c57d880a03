/** A client library or product with the configuration that signs people in. The snippet is `snippets/<id>.txt`. */
export interface Stack {
  readonly id: string;
  readonly title: string;
  /** Where its users keep the snippet. */
  readonly file: string;
  /** Path of the redirect URI where the stack prescribes it. */
  readonly callbackPath?: string;
  /** It sends no code challenge: the application declares `pkce: optional`. */
  readonly withoutPkce?: true;
  /** What the snippet says beyond issuer, client identifier and secret, and why. */
  readonly note?: string;
}

/** All stacks, in the order of the documentation. */
export const stacks: readonly Stack[] = [
  {
    id: 'auth-js',
    title: 'Auth.js',
    file: 'auth.config.js',
    callbackPath: '/auth/callback/tessera',
    note: '`idToken: false` reads names and e-mail addresses at /userinfo: the ID token has none.',
  },
  {
    id: 'passport',
    title: 'passport-openidconnect',
    file: 'strategy.js',
    withoutPkce: true,
    note: 'It reads no discovery document: the endpoints are given.',
  },
  {
    id: 'express-openid-connect',
    title: 'express-openid-connect',
    file: 'oidc.config.js',
    callbackPath: '/callback',
    note: 'Its default is the implicit flow: `response_type` asks for a code.',
  },
  {
    id: 'authlib',
    title: 'Authlib',
    file: 'tessera.py',
    note: 'It sends a code challenge only if asked to.',
  },
  {
    id: 'requests-oauthlib',
    title: 'requests-oauthlib',
    file: 'tessera.py',
    note: 'It reads no discovery document by itself.',
  },
  {
    id: 'mozilla-django-oidc',
    title: 'mozilla-django-oidc',
    file: 'oidc_settings.py',
    callbackPath: '/oidc/callback/',
    note: 'It reads no discovery document, expects HS256 and sends a code challenge only if asked to.',
  },
  {
    id: 'flask-oidc',
    title: 'flask-oidc',
    file: 'oidc_settings.py',
    callbackPath: '/authorize',
    withoutPkce: true,
    note: 'Its default scopes leave out the profile.',
  },
  { id: 'go-oidc', title: 'go-oidc with x/oauth2', file: 'tessera.go' },
  {
    id: 'kubelogin',
    title: 'kubelogin',
    file: 'kubeconfig.yaml',
    note: 'A public application: a kubeconfig holds no secret. For the device flow add --grant-type=device-code.',
  },
  {
    id: 'oauth2-proxy',
    title: 'oauth2-proxy',
    file: 'oauth2-proxy.cfg',
    callbackPath: '/oauth2/callback',
    note: 'It sends a code challenge only if asked to.',
  },
  {
    id: 'spring-boot',
    title: 'Spring Boot 4: client',
    file: 'application.yaml',
    callbackPath: '/login/oauth2/code/tessera',
  },
  {
    id: 'spring-boot-jwt',
    title: 'Spring Boot: resource server that verifies',
    file: 'application-jwt.yaml',
    note: 'Declare tokenType: JWT and scopeFormat: string for the API resource.',
  },
  {
    id: 'spring-boot-opaque',
    title: 'Spring Boot: resource server that introspects',
    file: 'application-opaque.yaml',
  },
  { id: 'rust', title: 'Rust openidconnect', file: 'src/tessera.rs' },
  { id: 'go-api', title: 'Go: resource server with go-oidc', file: 'api.go' },
  { id: 'python-api', title: 'Python: resource server with PyJWT', file: 'tessera.py' },
  { id: 'dotnet', title: '.NET: client', file: 'Program.cs', callbackPath: '/signin-oidc' },
  { id: 'dotnet-api', title: '.NET: resource server', file: 'Program.cs' },
  { id: 'nginx', title: 'nginx auth_request', file: 'tessera.conf' },
  { id: 'envoy', title: 'Envoy jwt_authn', file: 'envoy.yaml' },
  { id: 'kubernetes', title: 'Kubernetes API server', file: 'authentication.yaml' },
];
