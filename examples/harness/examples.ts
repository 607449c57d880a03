/** How one example is installed, started and walked through. */
export interface Example {
  /** Below `examples`; by default the example's name. */
  readonly folder?: string;
  /** The stacks of `tessera client-config` that configure it; by default the one of the example's name. */
  readonly stacks?: readonly string[];
  /** A program that must be on the PATH. */
  readonly needs?: string;
  readonly install?: string;
  readonly start: string;
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

const spring = (version: string): Example => ({
  folder: 'spring-boot',
  stacks: ['spring-boot', 'spring-boot-jwt', 'spring-boot-opaque'],
  install: `mvn -q -B package -Dspring-boot.version=${version}`,
  start: 'java -jar target/example.jar --spring.profiles.active=jwt,opaque --server.port=19400',
  signIn: '/',
  refresh: '/refresh',
  signOut: '/logout',
});

export const examples: Readonly<Record<string, Example>> = {
  'auth-js': { ...node, signIn: '/auth/signin', signOut: '/auth/signout', staysSignedIn: true },
  passport: { ...node, staysSignedIn: true },
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
  'flask-oidc': { ...python, refresh: '/refresh', signOut: '/logout', staysSignedIn: true },
  'go-oidc': { install: 'go build -o app .', start: './app' },
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
  'spring-boot': spring('4.0.9'),
  'spring-boot-3': spring('3.5.16'),
  rust: { install: 'cargo build -q', start: 'target/debug/sign-in' },
  'go-api': { install: 'go build -o app .', start: './app', shows: /valid for go-api\nrefused: / },
  'python-api': { install: pip, start: '.venv/bin/python app.py', shows: /valid for python-api\nrefused: / },
  nginx: {
    needs: 'nginx',
    start: 'sh run.sh',
    shows: /without a token: 401\nwith a wrong one: 401\nhello nginx/,
  },
  envoy: {
    needs: 'envoy',
    start: 'sh run.sh',
    shows: /without a token: 401\nwith a wrong one: 401\nhello[^:]*x-seen-subject: envoy/,
  },
};
