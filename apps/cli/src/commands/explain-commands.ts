import { Help, type Command, type HelpConfiguration } from 'commander';
import { commandTable, formerVerbs } from './command-table.ts';

const standard = new Help();

const help: HelpConfiguration = {
  optionDescription: (option) => {
    // That nothing is set by default is no news.
    const text = standard.optionDescription(option).replace(/ \(default: (false|"")\)$/, '');
    return option.mandatory ? `${text} (required)` : text;
  },
  subcommandTerm: (command) => withoutAlias(standard.subcommandTerm(command), command),
  commandUsage: (command) => {
    const required = command.options.filter(({ mandatory }) => mandatory);
    // Without its short form.
    const flags = required.map((option) => option.flags.slice(option.flags.indexOf('--')));
    const usage = withoutAlias(standard.commandUsage(command), command);
    return usage.replace('[options]', [...flags, '[options]'].join(' '));
  },
};

function withoutAlias(text: string, command: Command): string {
  return text.replace(`|${command.alias()}`, '');
}

/**
 * Has each command of a program explain itself in one way: help with what is required and with examples, errors of
 * usage in three lines. Former verbs work, too. To be called when all commands are there.
 */
export function explainCommands(program: Command): void {
  program.addHelpText('afterAll', ({ command }) => examplesOf(command));
  for (const command of withAllBelow(program)) {
    const former = formerVerbs[pathOf(command)];
    if (former !== undefined) command.alias(former);
    const usage = command.configureHelp(help).createHelp().commandUsage(command);
    command.showHelpAfterError(
      `Usage: ${usage}\n${['tessera', pathOf(command)].join(' ').trim()} --help explains it.`,
    );
  }
}

/** Writes what is wrong with a command line as one line: commander gives its suggestion a line of its own. */
export function outputError(text: string, write: (text: string) => void): void {
  write(`${text.trim().replaceAll(/\s*\n\s*/g, ' ')}\n`);
}

/** The words that call a command; empty for the program. */
export function pathOf(command: Command): string {
  return command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`.trim();
}

function withAllBelow(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withAllBelow)];
}

/** As many as help shows of a group. */
const ofGroup = 3;

function examplesOf(command: Command): string {
  const path = pathOf(command);
  const examples =
    commandTable[path] ??
    Object.entries(commandTable)
      .filter(([words]) => words.startsWith(`${path} `))
      .slice(0, ofGroup)
      .map(([words, [first]]) => `${words.slice(path.length + 1)} ${first}`);
  if (examples.length === 0) return '';
  const lines = examples.map((example) =>
    `  ${['tessera', path, example].filter(Boolean).join(' ')}`.trimEnd(),
  );
  return `\nExamples:\n${lines.join('\n')}`;
}
