import { recordExamples } from '../records/nouns.ts';

/**
 * The commands by the words that call them, each with what a person types after these words, as its help shows it. A
 * group of commands shows the first examples of its commands. The names are those of the demo (deploy/demo) and of
 * docs.
 */
export const commandTable: Readonly<Record<string, readonly [string, ...string[]]>> = {
  '': ['login --issuer https://id.example.com', 'user list --tenant demo', 'apply -f tessera.yaml'],

  login: [
    '--issuer https://id.example.com --api https://admin.id.example.com:9002',
    '--client-id deploy --client-secret-file ./secret',
  ],
  logout: ['', '--context id.example.com'],
  'context list': [''],
  'context add': ['production --issuer https://id.example.com --api https://admin.id.example.com:9002'],
  'context use': ['production', 'local'],
  'context remove': ['production'],

  apply: ['-f tessera.yaml', '-f tessera.yaml --owner k8s:shop/web --allow-delete'],
  check: ['-f tessera.yaml'],
  diff: ['-f tessera.yaml', '-f tessera.yaml --impact'],
  get: ['> tessera.yaml', '--tenant demo'],
  schema: ['> tessera.schema.json'],
  'import people': [
    'users.ndjson --from auth0 --tenant demo --dry-run',
    'people.csv --tenant demo --dry-run',
    'people.csv --tenant demo',
  ],
  'import keycloak': [
    'realm.json --dry-run --report report.html',
    'realm.json --redirect-uris-template > clients.yaml',
    'realm.json --tenant demo --redirect-uris clients.yaml --verify',
    'realm.json --keep-wildcards',
  ],

  ...recordExamples,

  'tenant disable': ['acme'],
  'tenant enable': ['acme'],

  'application disable': ['billing --tenant demo'],
  'application enable': ['billing --tenant demo'],

  'secret list': ['--client-id demo-service'],
  'secret create': ['--tenant demo --client-id billing --expires 2027-01-31T12:00:00Z'],
  'secret delete': ['--tenant demo --client-id billing --secret-id=uT3vGxQ0m2E'],
  'secret new': ['> ./secret'],

  'user show': ['eve --tenant demo', '--user-id usr_5LhV0c3nQwW2mT8yRkZb1A --tenant demo'],
  'user disable': ['eve --tenant demo'],
  'user enable': ['eve --tenant demo'],
  'user unlock': ['eve --tenant demo'],
  'user invite': [
    'eve@example.com --tenant demo --name Eve --role clerk',
    '-f people.csv --tenant demo -o csv > links.csv',
  ],
  'user reset-link': ['eve --tenant demo', 'eve --tenant demo --mail'],
  'user reset-factors': ['eve --tenant demo'],
  'user remove-credential': ['eve --tenant demo --passkey Laptop', 'eve --tenant demo --provider corp'],
  'user lockdown': ['eve --tenant demo', 'eve --tenant demo --validate-only'],

  'session list': ['ada --tenant demo'],
  'session revoke': ['--tenant demo --session-id=Z3kE1nB0dVh8T2xW', 'ada --tenant demo'],
  'grant list': ['ada --tenant demo', '--tenant demo --client-id demo-tv'],
  'grant revoke': ['ada --tenant demo --client-id demo-tv --reason lost'],
  'consent list': ['ada --tenant demo'],
  'consent revoke': ['ada --tenant demo --client-id demo-web'],
  'approval list': ['ada --tenant demo'],
  'approval deny': ['--tenant demo --approval-id=m0VhX2cQ7rTk'],
  'mail list': ['--tenant demo --state failed', 'ada --tenant demo'],
  'mail delete': ['--tenant demo --mail-id=tm_4fQm1rXz'],

  'audit search': ['--tenant demo --about ada --since 7d', '--event auth. --outcome failure -o json'],
  why: ['4bf92f3577b34da6a3ce929d0e0e4736'],
  'keys list': ['', '--tenant acme'],
  'keys rotate': ['', '--now'],
  'keys revoke': ['--kid=Qd0mV3yXk2sWc8TnB1rLfA'],
  'epoch bump': ['', '--tenant demo'],

  'flow device': ['--client-id demo-tv', "--client-id demo-tv --scope 'openid offline_access' --no-qr"],
  'flow ciba': ["--client-id demo-ciba --login-hint ada --binding-message 'Order 4711'"],
  'client-config': ['acme-web auth-js -f tessera.yaml'],
  'webhook-key': ['--tenant demo --client-id demo-ciba'],

  bootstrap: ['', '--username eve --email eve@example.com'],
  migrate: [''],
  'config check': ['', '--process gateway'],
  doctor: ['', '--process directory', '--secrets'],
  smoke: ['--issuer https://id.example.com --wait 60s', '--issuer https://id.example.com --isolation'],
  completion: ['bash'],
};

/** What commands were called before, by their words of today. The former verb works, and nothing shows it. */
export const formerVerbs: Readonly<Record<string, string>> = {
  'approval deny': 'cancel',
  'consent revoke': 'withdraw',
  'keys revoke': 'withdraw',
  'session revoke': 'end',
};
