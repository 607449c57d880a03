import type { Command } from 'commander';
import { issuerOf } from '../at-hand/issuer-at-hand.ts';
import { addClientOptions, clientOf, type ClientOptions } from '../flow/flow-options.ts';
import {
  allowAdministrationOption,
  nonEmpty,
  outputOption,
  takeOverOption,
  type Format,
} from '../options.ts';
import { addSecrets } from './secret-commands.ts';
import type { Declaring } from './records/declare-state.ts';
import type { Allowed } from './records/show-comparison.ts';
import { CommandError, type CommandContext } from '../terminal.ts';
import { addStatus } from './status-commands.ts';

/**
 * Commands for operators. They work on a deployment from inside, with the settings and the code of its
 * processes, which are loaded only when one of them runs.
 */
export function addOperatorCommands(program: Command, context: CommandContext): void {
  addDeclaredState(program, context);
  addSchema(program, context);
  addProcessChecks(program, context);
  addKeys(program.command('keys').description('list, rotate and revoke signing keys'), context);
  addStatus(program, context);
  addSecrets(program.command('secret').description('make and list client secrets'), context);
  program
    .command('epoch')
    .description('invalidate what was issued so far')
    .command('bump')
    .description('after a restore: invalidate every refresh token, session, code and decision issued so far')
    .option('--tenant <id>', 'only this tenant instead of all')
    .action(async ({ tenant }: { tenant?: string }) => {
      const { bump } = await import('./schemas/bump-epoch.ts');
      await bump(tenant, context);
    });
  addClientOptions(program.command('smoke'))
    .description(
      'fetch metadata and keys from a running server and check that it rejects an invalid token; with a client, get a token too',
    )
    .option('--address <url>', 'where to reach the server, if not at the issuer')
    .option(
      '--wait <time>',
      'how long to wait for a server that does not respond or is not ready, such as 60s',
    )
    .option('--isolation', 'also try what one tenant could do with values of another', false)
    .addHelpText(
      'after',
      `
With --isolation it creates two tenants with names that begin with smoke-, tries what one has as the other, at every path and by every call of
the administration API, and deletes both. It needs an administrator of the operator tenant: tessera login, or the process with
embedded stores in TESSERA_DATA_DIR. Both tenants get issuers below the shared one, whose paths must reach Tessera.`,
    )
    .action(async (options: ClientOptions & { address?: string; wait?: string; isolation: boolean }) => {
      const issuer = await issuerOf(options, context);
      const address = options.address ?? issuer;
      const waitMs = await millisecondsOf(options.wait);
      const { smoke } = await import('./smoke.ts');
      await smoke({ issuer, address, client: clientOf(options, context), waitMs }, context);
      if (!options.isolation) return;
      const { checkIsolation } = await import('./isolation/check-isolation.ts');
      await checkIsolation({ issuer, address: address.replace(/\/$/, '') }, context);
    });
}

async function millisecondsOf(time = '0s'): Promise<number> {
  const { parseDuration } = await import('@tessera/process/settings');
  const seconds = parseDuration(time);
  if (seconds === undefined) throw new CommandError('--wait: expected a duration such as 60s or 2m.');
  return seconds * 1000;
}

type DiffOptions = { readonly file: string; readonly impact: boolean } & Allowed & Declaring;

const ownerOption = [
  '--owner <name>',
  'who declares the records; default: the `owner` of the file, or file',
  nonEmpty,
] as const;
const allowDeleteOption = [
  '--allow-delete',
  'delete people, applications and other records that are no longer declared',
  false,
] as const;

function addDeclaredState(program: Command, context: CommandContext): void {
  program
    .command('migrate')
    .description('bring all schemas of DATABASE_URL up to date')
    .action(async () => {
      const { migrateSchemas } = await import('./schemas/migrate-schemas.ts');
      await migrateSchemas(context);
    });
  program
    .command('apply')
    .description('make the tenants match a declared state')
    .requiredOption('-f, --file <path>', 'the declared state, as YAML; - reads standard input', nonEmpty)
    .option(...allowDeleteOption)
    .option(...allowAdministrationOption)
    .option(...ownerOption)
    .option(...takeOverOption)
    .addHelpText(
      'after',
      `
It changes the records of its owner alone. If it declares one that another owner declared otherwise, it changes nothing of the
tenant, lists the owners and exits with code 3, unless it takes the records over.
Without --allow-delete it changes nothing if it would delete a person, an application, or more than a tenth of the
resources or roles of a tenant: it lists them and exits with code 3. A deleted person who is declared again gets a new \`sub\`;
\`tessera user restore\` brings back the old one for 30 days.
Without --allow-administration it changes nothing if somebody would get a built-in role or scope of the administration: it lists them
and exits with code 3.`,
    )
    .action(async ({ file, ...options }: { file: string } & Allowed & Declaring) => {
      const { applyState } = await import('./records/declare-state.ts');
      await applyState(file, options, context);
    });
  program
    .command('check')
    .description('check a declared state without a server')
    .requiredOption('-f, --file <path>', 'the declared state, as YAML; - reads standard input', nonEmpty)
    .addHelpText(
      'after',
      `
It reports every mistake at once, and warns of people whose tokens many servers refuse. Secrets and passwords whose variable or file is not
here are not checked. Only \`diff\` and \`apply\` see a client identifier that another tenant has, or a name of somebody whom the file does not
declare.`,
    )
    .action(async ({ file }: { file: string }) => {
      const { checkState } = await import('./records/declare-state.ts');
      await checkState(file, context);
    });
  program
    .command('diff')
    .description('show what apply would change, and change nothing')
    .requiredOption('-f, --file <path>', 'the declared state, as YAML; - reads standard input', nonEmpty)
    .option('--impact', 'also show what it would end', false)
    .option(...allowDeleteOption)
    .option(...allowAdministrationOption)
    .option(...ownerOption)
    .option(...takeOverOption)
    .addHelpText(
      'after',
      `
It names the records and keys that differ, never a value. With --impact it counts the people and applications for whom everything issued
before ends, the sessions, and the refresh tokens that stop to work, and names the first hundred of each.
Exit code 0: nothing would change; 1: something would; 2: the comparison failed; 3: apply with the same options would exit with 3.`,
    )
    .action(async ({ file, ...options }: DiffOptions) => {
      const { diffState } = await import('./records/declare-state.ts');
      const { differs, needed } = await diffState(file, options, context).catch((error: unknown) => {
        throw error instanceof CommandError && error.exitCode === 1
          ? new CommandError(error.message, 2)
          : error;
      });
      if (needed.length > 0) context.exitWith(3);
      else if (differs) context.exitWith(1);
    });
  program
    .command('get')
    .description('print the declared state, as YAML')
    .option('--tenant <id>', 'only this tenant instead of all')
    .addHelpText(
      'after',
      `
It omits secrets, passwords and their hashes, and every key that has its default, including a \`status\` of \`active\`.
Before you apply it, give confidential applications their \`secrets\` again; undeclared passwords stay as they are.`,
    )
    .action(async ({ tenant }: { tenant?: string }) => {
      const { printState } = await import('./records/print-state.ts');
      await printState(tenant, context);
    });
}

function addSchema(program: Command, { out }: CommandContext): void {
  program
    .command('schema')
    .description('print the JSON Schema of the declared state, with which editors complete and check it')
    .addHelpText(
      'after',
      `
tessera schema > tessera.schema.json; then begin the file with the line
# yaml-language-server: $schema=./tessera.schema.json`,
    )
    .action(async () => {
      const { declaredStateSchema } = await import('@tessera/directory/json-schema');
      out(`${JSON.stringify(declaredStateSchema(), null, 2)}\n`);
    });
}

function addProcessChecks(program: Command, context: CommandContext): void {
  const processFlag = '--process <name>';
  const processHelp = 'gateway, authorize, token, device, keys, directory, admin or standalone';
  program
    .command('config')
    .description('check settings')
    .command('check')
    .description('check whether a process can start with this environment')
    .option(processFlag, processHelp, nonEmpty, 'standalone')
    .action(async ({ process }: { process: string }) => {
      const { configurationProblems, secretsToBeMade } = await import('../processes.ts');
      const problems = configurationProblems(process, context.environment);
      if (problems.length > 0) throw new CommandError(problems.join('\n'));
      context.say(`${process} can start with this configuration.\n`);
      const toBeMade = secretsToBeMade(process, context.environment);
      if (toBeMade.length > 0)
        context.say(`When it starts, it generates ${toBeMade.join(', ')} for its embedded stores.\n`);
    });
  program
    .command('doctor')
    .description('check the settings and the stores of a process')
    .option(processFlag, processHelp, nonEmpty, 'standalone')
    .option('--secrets', 'instead list the secrets that are left; none may be a client secret', false)
    .addHelpText(
      'after',
      `
With --secrets it names, never shows, the secrets of applications and providers in the database, and those among the settings. It exits with
code 1 if one is a client secret, of the console included: a token of the platform (trusts) can take its place.`,
    )
    .action(async ({ process, secrets }: { process: string; secrets: boolean }) => {
      if (secrets) {
        const { listSecretsLeft } = await import('./schemas/list-secrets-left.ts');
        return listSecretsLeft(process, context);
      }
      const { examine } = await import('./schemas/doctor.ts');
      await examine(process, context);
    });
}

/** Adds `--tenant` to a command of the keys. */
function withTenant(command: Command): Command {
  return command.option('--tenant <id>', 'the keys of this tenant, which has an issuer of its own', '');
}

function addKeys(keys: Command, context: CommandContext): void {
  withTenant(keys.command('list'))
    .description('list the published signing keys of each algorithm, newest first')
    .addHelpText(
      'after',
      `
published: known to verifiers, signs next. active: signs.
retired: no longer signs; verifiers still trust what it signed.`,
    )
    .addOption(outputOption('table'))
    .action(async ({ tenant, output }: { tenant: string; output: Format }) => {
      const { listKeys } = await import('./records/signing-keys.ts');
      await listKeys({ tenantId: tenant, output }, context);
    });
  withTenant(keys.command('rotate'))
    .description('publish the next signing key of each algorithm, which signs after the publication lead')
    .option('--now', 'sign with it within seconds, without the lead: for a leaked key', false)
    .addHelpText(
      'after',
      `
With --now, it waits until every process publishes the key. Verifiers that do not fetch the key set for an unknown key reject new tokens
until their copy expires.
Either way the key before it stays in the key set for seven days, or until
tessera keys revoke removes it.`,
    )
    .action(async ({ now, tenant }: { now: boolean; tenant: string }) => {
      const { rotateKeys } = await import('./records/signing-keys.ts');
      await rotateKeys({ immediately: now, tenantId: tenant }, context);
    });
  withTenant(keys.command('revoke'))
    .description('remove a leaked, retired key from the key set')
    // Every 64th begins with a dash.
    .requiredOption('--kid <kid>', 'the key, as tessera keys list names it: --kid=<kid>', nonEmpty)
    .addHelpText(
      'after',
      `
From then on everything it signed is rejected, valid tokens too: clients get new ones by refreshing or asking again.`,
    )
    .action(async ({ kid, tenant }: { kid: string; tenant: string }) => {
      const { revokeKey } = await import('./records/signing-keys.ts');
      await revokeKey({ kid, tenantId: tenant }, context);
    });
}
