/**
 * The `tessera` command: what people do with a deployment from a terminal. Flows talk to it as any client does, over HTTP and
 * by its metadata; what operators do (`operate/`) uses the settings and the code of its processes. Results go to standard
 * output, everything for people to standard error.
 */
import { parseArgs } from 'node:util';
import { parseConfig, type Command } from './command.ts';
import { commands } from './commands.ts';
import { commandHelp, overview } from './help.ts';
import { CommandError, UsageError, type Terminal } from './terminal.ts';
import { valuesOf } from './values.ts';

/** Runs a command line. Answers the exit code: 0 done, 1 failed, 2 not understood, unless the command says otherwise. */
export async function run(args: readonly string[], terminal: Terminal): Promise<0 | 1 | 2> {
  const command = commands.find(({ words }) => words.every((word, at) => args[at] === word));
  if (command === undefined) {
    const group = commands.filter(({ words }) => words.length > 1 && words[0] === args[0]);
    const [word] = group.length === 0 ? args : args.slice(1);
    const asked = args.length === 0 || (word !== undefined && ['--help', '-h', 'help'].includes(word));
    const table = overview(group.length === 0 ? commands : group);
    terminal.say(asked ? table : `There is no such command.\n\n${table}`);
    return asked ? 0 : 2;
  }
  try {
    return (await execute(command, args.slice(command.words.length), terminal)) === 1 ? 1 : 0;
  } catch (error) {
    if (error instanceof CommandError) {
      terminal.say(`${error.message}\n`);
      return command.failure ?? 1;
    }
    if (error instanceof UsageError) {
      terminal.say(`${error.message}\n\n${commandHelp(command)}`);
      return 2;
    }
    throw error;
  }
}

async function execute(command: Command, args: readonly string[], terminal: Terminal): Promise<void | 1> {
  const given = parsed(command, args);
  if (given['help'] === true) {
    terminal.say(commandHelp(command));
    return;
  }
  return command.run(valuesOf(command, given, terminal), terminal);
}

function parsed(command: Command, args: readonly string[]): Readonly<Record<string, unknown>> {
  try {
    return parseArgs({ args: [...args], options: parseConfig(command), allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'The command line cannot be read.');
  }
}
