/**
 * The `tessera` command. Flows talk to a deployment as any client does, over HTTP and by its metadata; operator
 * commands (`operate/`) call its administration API or its processes, and use their code with `--direct` alone. Results
 * and help that was asked for go to standard output, messages for people to standard error.
 */
import completion from '@bomb.sh/tab/commander';
import { Command, CommanderError } from 'commander';
import { readFileSync } from 'node:fs';
import { addAuditCommands } from './audit/audit-commands.ts';
import { addClientConfig } from './client-config/client-config-command.ts';
import { addContextCommands } from './contexts/context-commands.ts';
import { explainCommands, outputError } from './commands/explain-commands.ts';
import { addFlowCommands } from './flow/flow-commands.ts';
import { addImport } from './import/import-commands.ts';
import { addIssuedCommands } from './issued/issued-commands.ts';
import { addOperatorCommands } from './operate/operate-commands.ts';
import { lacksTenant, nonEmpty } from './options.ts';
import { addPeopleCommands } from './people/people-commands.ts';
import { addRecordCommands } from './records/record-commands.ts';
import { completeValues } from './complete-values.ts';
import { CommandError, type CommandContext, type Reach, type Terminal } from './terminal.ts';
import { addWebhookKey } from './webhook-key.ts';

/**
 * Runs a command line. Resolves with the exit code: 0 success, 1 failure, 2 usage error, 3 what needs a decision first,
 * unless the command sets another.
 */
export async function run(args: readonly string[], terminal: Terminal): Promise<0 | 1 | 2 | 3> {
  let exitCode: 0 | 1 | 2 | 3 = 0;
  let tenant: string | undefined;
  const said = new Set<string>();
  const context: CommandContext = {
    ...terminal,
    sayOnce(text) {
      if (!said.has(text)) terminal.say(text);
      said.add(text);
    },
    reach: () => ({ ...program.opts<Reach>(), ...(tenant !== undefined && { tenant }) }),
    exitWith: (code) => {
      exitCode = code;
    },
  };
  const program: Command = createProgram(context);
  program.hook('preAction', async (_, action) => {
    if (!lacksTenant(action)) return;
    const { requiredTenant } = await import('./contexts/default-tenant.ts');
    tenant = await requiredTenant(context);
    action.setOptionValueWithSource('tenant', tenant, 'default');
  });
  try {
    await program.parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has printed its message; every usage error is code 2.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof CommandError)) throw error;
    terminal.say(`${error.message}\n`);
    return error.exitCode;
  }
}

const manual = `
Which installation: --context; else TESSERA_API; else TESSERA_PEERS; else the current context; else the process whose data
directory is at hand (TESSERA_DATA_DIR, .tessera). Where nobody serves, --direct works on the database of DATABASE_URL; migrate, doctor
and epoch always do. What changes something, and diff, says first where it works, unless --context says so; what reads says it with an error.
Which tenant: --tenant; else TESSERA_TENANT; else that of the context (tessera context use). tenant commands and import people have to name it;
get, keys and epoch are about all tenants unless --tenant names one, audit search about those that the login may see.
Exit codes: 0 done; 1 failed, or diff found differences; 2 wrong usage, or diff failed; 3 apply or import is refused, as deletions, records of
other owners or administration that would be given need to be allowed, or as others have what the file declares: diff and --dry-run say so before.
Results go to standard output, messages to standard error.`;

function version(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

/**
 * All commands. A new one goes into the file of its group. Only its action imports what does the work: help, and other
 * commands, load none of it.
 */
export function createProgram(context: CommandContext): Command {
  const program = new Command('tessera')
    .description('Operates Tessera and tries its flows.')
    .version(version(), '--version', 'print the version')
    .option(
      '--context <name>',
      'the installation to work on, as tessera login named it (or TESSERA_CONTEXT)',
      nonEmpty,
    )
    .option('--direct', 'work on the database of DATABASE_URL, past every process', false)
    .addHelpText('after', manual)
    .configureOutput({ writeOut: context.out, writeErr: context.say, outputError })
    .exitOverride();
  addContextCommands(program, context);
  addFlowCommands(program, context);
  addClientConfig(program, context);
  addWebhookKey(program, context);
  addOperatorCommands(program, context);
  addRecordCommands(program, context);
  addImport(program, context);
  addPeopleCommands(program, context);
  addAuditCommands(program, context);
  addIssuedCommands(program, context);
  // Last, as they walk through all commands.
  completeValues(program, completion(program, { completionCommandName: 'completion' }), context);
  explainCommands(program);
  return program;
}
