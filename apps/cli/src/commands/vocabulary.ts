/**
 * What each verb does, whatever it is done to: a command has one of them in its name. What does something else gets a
 * verb of its own.
 */
export const vocabulary: Readonly<Record<string, string>> = {
  // To what is kept at an installation.
  list: 'prints those that there are, the whole of each in JSON',
  get: 'prints what a file can declare: one record, or the declared state',
  show: 'prints what no single record has: a person with how they sign in and what was issued to them',
  search: 'prints what happened, by conditions',
  create: 'adds one',
  update: 'changes the fields that are given',
  delete: 'takes away what is stored: a record, a secret, a mail that waits',
  restore: 'brings back what was deleted',
  disable: 'blocks one, and keeps it',
  enable: 'ends what disable, or a lock of an administrator, did',
  revoke: 'ends what gives access: a session, a grant, a consent, a key (RFC 7009)',
  deny: 'decides no in place of a person, which the client is told as access_denied',
  rotate: 'puts the next one in the place of the current one',
  bump: 'ends everything that was issued so far',
  apply: 'makes records as a file declares them',
  import: 'brings people and applications from another product',
  migrate: 'brings the schemas up to date',

  // To a person.
  invite: 'adds a person with a link that sets the first password',
  bootstrap: 'makes the first administrator with a link that sets the password',
  unlock: 'ends a lock that wrong passwords or codes have set',
  lockdown: 'shuts everybody out of an account',
  'reset-link': 'makes a link that sets a new password',
  'reset-factors': 'takes away all second factors',
  'remove-credential': 'takes away one thing that a person signs in with',

  // To what is kept at this machine.
  login: 'gets tokens of an administrator, and keeps them',
  logout: 'ends them',
  add: 'notes an installation',
  use: 'makes one the current one',
  remove: 'forgets one',

  // To nothing: they look, compute and print.
  check: 'says what is wrong with a file or with settings, without a server',
  diff: 'says what apply would change',
  doctor: 'says what is wrong with the settings and stores of a process',
  smoke: 'says what is wrong with a running server',
  why: 'says why a request was refused',
  flow: 'gets tokens as an application does, and prints them',
  new: 'prints a new value, which is kept nowhere',
  schema: 'prints a schema of files',
  'client-config': 'prints a configuration of a client',
  'webhook-key': 'prints a key that is derived',
  completion: 'prints what a shell completes commands by',
};
