import type { Command } from 'commander';
import {
  about,
  nonEmpty,
  outputOption,
  takeOverOption,
  tenantOption,
  wholeNumber,
  writerOption,
} from '../options.ts';
import type { CommandContext } from '../terminal.ts';
import { methodOf, nouns, verbs, type Noun, type Verb } from './nouns.ts';
import { listOptions } from './list-options.ts';
import { recordOptions } from './record-options.ts';

const descriptions: Readonly<Record<Verb, (noun: Noun) => string>> = {
  list: ({ name }) => `list the ${name}s${name === 'tenant' ? '' : ' of a tenant'}`,
  get: ({ indefinite }) => `show ${indefinite}`,
  create: ({ indefinite }) => `add ${indefinite}`,
  update: ({ indefinite }) => `change the given fields of ${indefinite}`,
  delete: ({ indefinite }) => `delete ${indefinite}`,
  restore: ({ indefinite }) => `bring back ${indefinite} that was deleted within the last 30 days`,
};

/** Adds `list`, `get`, `create`, `update`, `delete` and `restore` to the command of each kind of record. */
export function addRecordCommands(program: Command, context: CommandContext): void {
  for (const noun of nouns) {
    const group =
      program.commands.find((command) => command.name() === noun.name) ?? program.command(noun.name);
    group.description(`manage ${noun.name}s one by one`);
    for (const verb of verbs) if (methodOf(noun, verb) !== undefined) addVerb(group, noun, verb, context);
  }
}

function addVerb(group: Command, noun: Noun, verb: Verb, context: CommandContext): void {
  const command = group.command(verb).description(descriptions[verb](noun));
  if (noun.name !== 'tenant') command.addOption(tenantOption());
  const run = async (options: Record<string, unknown>) => {
    const { runVerb } = await import('./run-verb.ts');
    await runVerb(noun, verb, options, context);
  };
  if (verb === 'list' || (verb === 'create' && noun.name === 'user')) command.action(run);
  else about(command, subjectOf(noun, verb), run);
  if (verb === 'create' || verb === 'update') addFields(command, noun, verb);
  if (verb === 'list') {
    command
      .option('--search <text>', searched(noun), '')
      .option('--limit <number>', 'at most so many', wholeNumber);
    for (const { option } of listOptions(noun)) command.addOption(option);
    if (methodOf(noun, 'listDeleted') !== undefined)
      command.option(
        '--deleted',
        'those that can be restored; --search is for the beginning of the name',
        false,
      );
  }
  if (verb === 'create' && noun.name === 'user')
    command
      .option('--user-id <id>', 'the sub that applications know them by from elsewhere, for good', nonEmpty)
      .option('--new-person', 'somebody else than the deleted person of that user name', false);
  if (verb === 'update' || verb === 'delete') {
    command.option('--etag <etag>', 'only if the record is still this version', '').option(...takeOverOption);
  }
  if (verb === 'create' || verb === 'update' || verb === 'delete') command.option(...writerOption);
  if (verb !== 'list' && verb !== 'get')
    command.option('--validate-only', 'check everything, and change nothing', false);
  if (noun.name === 'tenant' && verb === 'delete')
    command.option(
      '--everything-in <tenant>',
      'its identifier again: also delete what is in it, which nobody brings back',
      nonEmpty,
    );
  if (answersImpact(noun, verb))
    command.option('--impact', 'with --validate-only: also show what the change would end', false);
  if (verb !== 'delete') {
    command.addOption(outputOption(verb === 'list' ? 'table' : 'yaml'));
  }
}

function searched({ name }: Noun): string {
  return name === 'user'
    ? 'only who has words in name or address that begin like these, in any case, without accents too'
    : 'only those whose name or identifier has this text, in any case';
}

function answersImpact(noun: Noun, verb: Verb): boolean {
  return methodOf(noun, verb)?.input.fields.some(({ localName }) => localName === 'impact') ?? false;
}

function subjectOf({ name, keyOption: flags }: Noun, verb: Verb) {
  if (name !== 'user') return { name, flags, help: `the ${name}`, isRequired: true };
  const help = verb === 'restore' ? 'user name' : 'user name, e-mail address or phone number';
  return { name: 'person', flags, help, otherFlags: '--user-id <id>', isRequired: true };
}

function addFields(command: Command, noun: Noun, verb: 'create' | 'update'): void {
  for (const { option } of recordOptions(noun, verb)) command.addOption(option);
  command.option(
    '-f, --file <path>',
    'its fields as YAML or JSON, as get prints them; - reads standard input. What options say counts',
  );
  if (verb === 'update')
    command.option('--clear <field...>', 'fields that get their default, such as email or lifetimes');
}
