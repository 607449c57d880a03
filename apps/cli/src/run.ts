/**
 * The `tessera` command. Flows talk to a deployment as any client does, over HTTP and
 * by its metadata; operator commands (`operate/`) use the settings and the code of its processes. Results and help that was
 * asked for go to standard output, messages for people to standard error.
 */
import { Command, CommanderError } from 'commander';
import { addAuditCommands } from './audit/audit-commands.ts';
import { addClientConfig } from './client-config/client-config-command.ts';
import { addFlowCommands } from './flow/flow-commands.ts';
import { addImport } from './import/import-commands.ts';
import { addOperatorCommands } from './operate/operate-commands.ts';
import { addPeopleCommands } from './people/people-commands.ts';
import { addRecordCommands } from './records/record-commands.ts';
import { CommandError, type CommandContext, type Terminal } from './terminal.ts';
import { addWebhookKey } from './webhook-key.ts';

/**
 * Runs a command line. Resolves with the exit code: 0 success, 1 failure, 2 usage error, 3 deletions that must be allowed,
 * unless the command sets another.
 */
export async function run(args: readonly string[], terminal: Terminal): Promise<0 | 1 | 2 | 3> {
  let exitCode: 0 | 1 | 2 = 0;
  const program = createProgram({
    ...terminal,
    exitWith: (code) => {
      exitCode = code;
    },
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

/** All commands. A new one goes into the file of its group. */
function createProgram(context: CommandContext): Command {
  const program = new Command('tessera')
    .description('Operates Tessera and tries its flows.')
    .configureOutput({ writeOut: context.out, writeErr: context.say })
    .showHelpAfterError()
    .exitOverride();
  addFlowCommands(program, context);
  addClientConfig(program, context);
  addWebhookKey(program, context);
  addOperatorCommands(program, context);
  addRecordCommands(program, context);
  addImport(program, context);
  addPeopleCommands(program, context);
  addAuditCommands(program, context);
  return program;
}
