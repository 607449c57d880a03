import { randomBytes } from 'node:crypto';
import type { Command } from '../command.ts';
import { clientOf } from '../flow/options.ts';
import { CommandError } from '../terminal.ts';
import { smoke } from './smoke.ts';
import { statusCommands } from './status-commands.ts';

/**
 * What operators do with a deployment. These work on it from inside, with the settings and the code of its processes, which
 * are loaded only when one of these commands runs.
 */

const processOption = {
  process: {
    type: 'string',
    help: 'gateway, authorize, token, device, keys, directory or standalone',
    default: 'standalone',
  },
} as const;

const migrate: Command = {
  words: ['migrate'],
  summary: 'bring the schemas of DATABASE_URL up to date',
  options: {},
  async run(_values, terminal) {
    const { migrateSchemas } = await import('./migrate.ts');
    await migrateSchemas(terminal);
  },
};

const apply: Command = {
  words: ['apply'],
  summary: 'make the tenants what a file declares',
  options: { file: { type: 'string', short: 'f', help: 'The declared state, as YAML', required: true } },
  async run(values, terminal) {
    const { applyState } = await import('./apply.ts');
    await applyState(values.required('file'), terminal);
  },
};

const diff: Command = {
  words: ['diff'],
  summary: 'say what apply would change, and change nothing',
  details:
    'It names records and the keys that differ, never a value.\n' +
    'Exit code 0: nothing would change; 1: something would; 2: that cannot be told.',
  options: { file: { type: 'string', short: 'f', help: 'The declared state, as YAML', required: true } },
  failure: 2,
  async run(values, terminal) {
    const { diffState } = await import('./apply.ts');
    return diffState(values.required('file'), terminal);
  },
};

const get: Command = {
  words: ['get'],
  summary: 'print what is declared, as YAML',
  details:
    'Secrets, passwords and their hashes are left out, and so is what has its default: a `status` of `active` too.\n' +
    'To apply it, give confidential applications their `secrets` again; passwords that are not declared stay.',
  options: { tenant: { type: 'string', help: 'One tenant alone; all of them without' } },
  async run(values, terminal) {
    const { printState } = await import('./get.ts');
    await printState(values.text('tenant'), terminal);
  },
};

const configCheck: Command = {
  words: ['config', 'check'],
  summary: 'say whether a process could start with this environment',
  options: processOption,
  async run(values, { environment, say }) {
    const { configurationProblems, secretsToBeMade } = await import('./settings.ts');
    const name = values.required('process');
    const problems = configurationProblems(name, environment);
    if (problems.length > 0) throw new CommandError(problems.join('\n'));
    say(`${name} can start with this configuration.\n`);
    const toBeMade = secretsToBeMade(name, environment);
    if (toBeMade.length > 0) say(`At its start it makes ${toBeMade.join(', ')} for its embedded stores.\n`);
  },
};

const doctor: Command = {
  words: ['doctor'],
  summary: 'look at the settings and the stores of a process, and say what is wrong',
  options: processOption,
  async run(values, terminal) {
    const { examine } = await import('./doctor.ts');
    await examine(values.required('process'), terminal);
  },
};

const epochBump: Command = {
  words: ['epoch', 'bump'],
  summary: 'after a restore: end every refresh token, session, code and decision of before',
  options: { tenant: { type: 'string', help: 'One tenant alone; all of them without' } },
  async run(values, terminal) {
    const { bump } = await import('./epoch.ts');
    await bump(values.text('tenant'), terminal);
  },
};

const keysList: Command = {
  words: ['keys', 'list'],
  summary: 'list the signing keys that verifiers are told of, newest first',
  details:
    'published: known to verifiers, signs next. active: signs.\n' +
    'retired: signs no more, and is still trusted for what it signed.',
  options: {},
  async run(_values, terminal) {
    const { listKeys } = await import('./keys.ts');
    await listKeys(terminal);
  },
};

const keysRotate: Command = {
  words: ['keys', 'rotate'],
  summary: 'publish the next signing key, which takes over after the publication lead',
  details:
    'With --now, verifiers that keep a copy of the key set refuse new tokens until they fetch it again.\n' +
    'The key before it stays in the key set either way, until TESSERA_KEYS_RETENTION is over, or until\n' +
    'tessera keys withdraw takes it out.',
  options: { now: { type: 'boolean', help: 'Let it sign at once, without the lead: for a key that leaked' } },
  async run(values, terminal) {
    const { rotateKeys } = await import('./keys.ts');
    await rotateKeys(values.flag('now'), terminal);
  },
};

const keysWithdraw: Command = {
  words: ['keys', 'withdraw'],
  summary: 'take a retired key that leaked out of the key set',
  details:
    'What it signed is refused from then on, good tokens too: clients get others by refreshing or asking again.',
  // Every 64th begins with a dash.
  options: {
    kid: { type: 'string', help: 'The key that tessera keys list names, as --kid=<kid>', required: true },
  },
  async run(values, terminal) {
    const { withdrawKey } = await import('./keys.ts');
    await withdrawKey(values.required('kid'), terminal);
  },
};

const secretNew: Command = {
  words: ['secret', 'new'],
  summary: 'make a client secret, 32 random bytes as base64url, and print it',
  options: {},
  async run(_values, { out }) {
    out(`${randomBytes(32).toString('base64url')}\n`);
  },
};

const secretList: Command = {
  words: ['secret', 'list'],
  summary: 'say when each secret of an application was declared, expires, and was last used',
  options: { 'client-id': { type: 'string', help: 'The application', required: true } },
  async run(values, terminal) {
    const { listSecrets } = await import('./secrets.ts');
    await listSecrets(values.required('client-id'), terminal);
  },
};

const smokeTest: Command = {
  words: ['smoke'],
  summary: 'ask a running server what every deployment can answer; with a client, for a token as well',
  options: {
    issuer: {
      type: 'string',
      help: 'The issuer',
      environment: 'TESSERA_ISSUER',
      default: 'http://localhost:8080',
    },
    address: { type: 'string', help: 'Where the server is reached, when not at the issuer' },
    'client-id': {
      type: 'string',
      help: 'An application with the grant client_credentials',
      environment: 'TESSERA_CLIENT_ID',
    },
    'client-secret': { type: 'string', help: 'Its secret', environment: 'TESSERA_CLIENT_SECRET' },
  },
  async run(values, terminal) {
    const issuer = values.required('issuer');
    const client = values.text('client-id') === undefined ? undefined : clientOf(values);
    await smoke({ issuer, address: values.text('address') ?? issuer, client }, terminal);
  },
};

export const operating: readonly Command[] = [
  migrate,
  apply,
  diff,
  get,
  configCheck,
  doctor,
  keysList,
  keysRotate,
  keysWithdraw,
  ...statusCommands,
  epochBump,
  secretNew,
  secretList,
  smokeTest,
];
