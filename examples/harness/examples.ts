/** How one example is installed, started and walked through. */
export interface Example {
  /** The stack of `tessera client-config` that configures it; by default the one of the example's name. */
  readonly stack?: string;
  /** Below `examples`; by default the stack's name. */
  readonly folder?: string;
  /** Where it is copied to and built; by default a folder of its own. */
  readonly workspace?: string;
  /** A program that must be on the PATH. */
  readonly needs?: string;
  /** Runs once. */
  readonly install?: string;
  /** Runs after each change of its configuration. */
  readonly build?: string;
  readonly start: string;
  /** Its application declares `pkce: optional`. */
  readonly withoutPkce?: true;
  /** It is an API, or a proxy in front of one: an address that takes access tokens. */
  readonly api?: string;
  /**
   * The proxy tells the API in `X-Auth-*` headers who calls. `aliases`: it forwards names such as `X_Auth_Roles` as
   * they are.
   */
  readonly identity?: 'dashes' | 'aliases';
  /** Opened by the browser: signs in and shows the claims. Absent: the program prints what to open, then the claims. */
  readonly signIn?: string;
  /** Shows the answer to a refresh. */
  readonly refresh?: string;
  /** What a client writes that refreshes by itself while it is used. */
  readonly refreshing?: RegExp;
  readonly signOut?: string;
  /** What its output or its first page shows in the end; by default the user's claims. */
  readonly shows?: RegExp;
  /** The client's sign-out leaves the user signed in to Tessera. */
  readonly staysSignedIn?: boolean;
}

const npm = 'npm install --no-audit --no-fund --no-package-lock --silent';
const node = { install: npm, start: 'node app.js', signIn: '/', signOut: '/logout' };

const pip = 'test -d .venv || python3 -m venv .venv; .venv/bin/pip install -q -r requirements.txt';
const python = { install: pip, start: '.venv/bin/python app.py', signIn: '/' };

const spring = (version: string) => ({
  folder: 'spring-boot',
  workspace: `spring-boot-${version}`,
  install: `mvn -q -B package -Dspring-boot.version=${version}`,
});
const springServer = (stack: string, version: string): Example => {
  const profile = stack.replace('spring-boot-', '');
  return {
    stack,
    ...spring(version),
    start: `java -jar target/example.jar --spring.profiles.active=${profile} --server.port=19401`,
    api: `http://127.0.0.1:19401/${profile}`,
  };
};
const springClient = (version: string): Example => ({
  stack: 'spring-boot',
  ...spring(version),
  start: 'java -jar target/example.jar --spring.profiles.active=client --server.port=19400',
  signIn: '/',
  refresh: '/refresh',
  signOut: '/logout',
});

const proxy = (program: string, identity: 'dashes' | 'aliases'): Example => ({
  needs: program,
  start: 'sh run.sh',
  api: 'http://127.0.0.1:19401/orders/1',
  identity,
});

export const examples: Readonly<Record<string, Example>> = {
  'auth-js': { ...node, signIn: '/auth/signin', signOut: '/auth/signout', staysSignedIn: true },
  passport: { ...node, staysSignedIn: true, withoutPkce: true },
  'express-openid-connect': { ...node, refresh: '/refresh' },
  authlib: { ...python, refresh: '/refresh', signOut: '/logout' },
  'requests-oauthlib': { install: pip, start: 'OAUTHLIB_INSECURE_TRANSPORT=1 .venv/bin/python app.py' },
  // It renews the session with `prompt=none`: a second answer from the authorization endpoint.
  'mozilla-django-oidc': {
    ...python,
    refresh: '/?again',
    refreshing: /callback[\s\S]*callback/,
    signOut: '/oidc/logout/',
  },
  'flask-oidc': {
    ...python,
    refresh: '/refresh',
    signOut: '/logout',
    staysSignedIn: true,
    withoutPkce: true,
  },
  'go-oidc': { build: 'go build -o app .', start: './app' },
  kubelogin: { needs: 'kubelogin', start: 'sh run.sh', shows: /"token":"eyJ/ },
  'oauth2-proxy': {
    needs: 'oauth2-proxy',
    start: 'sh run.sh',
    signIn: '/oauth2/start?rd=/oauth2/userinfo',
    refresh: '/oauth2/userinfo',
    refreshing: /Refreshing session(?![\s\S]*Unable to refresh)/,
    signOut: '/oauth2/sign_out',
    staysSignedIn: true,
  },
  'spring-boot': springClient('4.0.9'),
  'spring-boot-jwt': springServer('spring-boot-jwt', '4.0.9'),
  'spring-boot-opaque': springServer('spring-boot-opaque', '4.0.9'),
  'spring-boot-3': { ...springClient('3.5.16'), withoutPkce: true },
  'spring-boot-3-jwt': springServer('spring-boot-jwt', '3.5.16'),
  'spring-boot-3-opaque': springServer('spring-boot-opaque', '3.5.16'),
  rust: { build: 'cargo build -q', start: 'target/debug/sign-in' },
  'go-api': { build: 'go build -o app .', start: './app', shows: /valid for \S+\nrefused: / },
  'python-api': { install: pip, start: '.venv/bin/python app.py', shows: /valid for \S+\nrefused: / },
  nginx: proxy('nginx', 'dashes'),
  caddy: proxy('caddy', 'aliases'),
  traefik: proxy('traefik', 'dashes'),
  envoy: proxy('envoy', 'aliases'),
};

/** Stacks without an example, and why. */
export const notRun: Readonly<Record<string, string>> = {
  dotnet: 'needs the .NET SDK, which is in no registry of packages',
  'dotnet-api': 'needs the .NET SDK, which is in no registry of packages',
  kubernetes: 'needs an API server and an issuer with https',
};
