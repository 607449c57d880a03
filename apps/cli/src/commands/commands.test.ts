import { CommanderError, type Command, type Option } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram, run } from '../run.ts';
import { CommandError, type CommandContext } from '../terminal.ts';
import { commandTable, formerVerbs } from './command-table.ts';
import { pathOf } from './explain-commands.ts';
import { vocabulary } from './vocabulary.ts';

const silent: CommandContext = {
  environment: {},
  out: () => undefined,
  say: () => undefined,
  input: async () => '',
  fetch: async () => Promise.reject(new TypeError('fetch failed')),
  sleep: async () => undefined,
  now: () => 0,
  exitWith: () => undefined,
};

/** The commands that do something, as far as a person sees them. */
function leavesOf(command: Command): readonly Command[] {
  const visible = command.createHelp().visibleCommands(command);
  const below = visible.filter((each) => command.commands.includes(each));
  return below.length === 0 ? [command] : below.flatMap(leavesOf);
}

/** What is said of a command line, and which command it would run. Nothing runs. */
async function parsed(words: readonly string[]) {
  let said = '';
  let reached = '';
  const program = createProgram({ ...silent, say: (text) => (said += text) });
  for (const leaf of leavesOf(program)) leaf.action(() => void (reached = pathOf(leaf)));
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError || error instanceof CommandError)) throw error;
    said += error.message;
  }
  return { said, reached };
}

/** The words of an example as a shell has them, without what it redirects. */
function wordsOf(path: string, example: string): readonly string[] {
  const [line = ''] = `${path} ${example}`.split(/ [<>|] /);
  return (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ''));
}

function problemsOfTable(program: Command): readonly string[] {
  const leaves = leavesOf(program);
  const paths = leaves.map(pathOf);
  return [
    ...leaves.filter((leaf) => leaf.description() === '').map((leaf) => `${pathOf(leaf)}: no description`),
    ...paths.filter((path) => !Object.hasOwn(commandTable, path)).map((path) => `${path}: no example`),
    ...Object.keys(commandTable)
      .filter((path) => path !== '' && !paths.includes(path))
      .map((path) => `${path}: no command`),
  ];
}

function problemsOfVerbs(program: Command): readonly string[] {
  const verbsOf = (path: string) => path.split(' ').filter((word) => Object.hasOwn(vocabulary, word));
  const paths = leavesOf(program).map(pathOf);
  const used = new Set(paths.flatMap(verbsOf));
  return [
    ...paths.filter((path) => verbsOf(path).length !== 1).map((path) => `${path}: not one verb`),
    ...Object.keys(vocabulary)
      .filter((verb) => !used.has(verb))
      .map((verb) => `${verb}: no command`),
  ];
}

/** Options whose value is written in several ways, and why. */
const differentValues: Readonly<Record<string, string>> = {
  '--email': 'of whom a link is for, and a field',
  '--issuer': 'an address, and the field of a tenant',
  '--name': 'names a role, and is the field of other records',
  '--redirect-uris': 'a file of an import with those of several clients, and a field',
  '--role': 'narrows a list to one, and gives several',
  '--username': 'names a person by any identifier, and is the field of a new one',
};

/** Options that mean something else elsewhere, and why. */
const differentMeanings: Readonly<Record<string, string>> = {
  '--allow-delete': 'an import has people and applications alone',
  '--client-id': 'whom the command acts as, is about, or narrows a list to',
  '--email': 'of the first administrator, of one person in place of a file, and a field',
  '--file': 'the declared state, a record, or people',
  '--impact': 'a comparison changes nothing anyway, and has no --validate-only',
  '--issuer': 'whose sign-in it is, and a field',
  '--name': 'a field, which is something else for each kind',
  '--owner': 'of one record, of a file, of an import: the default differs',
  '--provider': 'narrows a list, and says what to remove',
  '--redirect-uris': 'a file of an import with those of several clients, and a field',
  '--resource': 'what a token is for, and what a configuration has',
  '--role': 'narrows a list, and what one person gets',
  '--roles': 'a person has them, and tokens are narrowed to them',
  '--search': 'people are found by words',
  '--status': 'a condition, and a field, which has one value more for people',
  '--tenant': 'which tenants are meant without it differs',
  '--user-id': 'whom the command is about, and a field',
  '--username': 'whom the command is about, and a field',
  '--validate-only': 'some commands show what would end without --impact',
};

function problemsOfOptions(program: Command): readonly string[] {
  const all = leavesOf(program).flatMap((leaf) =>
    leaf.options.filter(({ hidden }) => !hidden).map((option) => ({ option, path: pathOf(leaf) })),
  );
  const byName = Map.groupBy(all, ({ option }) => option.long ?? option.flags);
  const differing = (what: (option: Option) => string, allowed: Readonly<Record<string, string>>) => {
    const found = [...byName].filter(([, uses]) => new Set(uses.map(({ option }) => what(option))).size > 1);
    const names = found.map(([name]) => name);
    return [
      ...names.filter((name) => !Object.hasOwn(allowed, name)).map((name) => `${name}: differs`),
      ...Object.keys(allowed)
        .filter((name) => !names.includes(name))
        .map((name) => `${name}: need not be allowed to differ`),
    ];
  };
  return [
    ...all
      .filter(({ option }) => option.description === '')
      .map(({ option, path }) => `${path} ${option.long}: no help`),
    ...differing(({ flags }) => flags, differentValues),
    ...differing(({ description }) => description, differentMeanings),
  ];
}

const everyExample = Object.entries(commandTable).flatMap(([path, examples]) =>
  examples.map((example) => ({ path, words: wordsOf(path, example) })),
);

describe('every command', () => {
  it('has a description, and an example in the table, which has no other', () => {
    expect(problemsOfTable(createProgram(silent))).toEqual([]);
  });

  it('has one verb of the vocabulary, which has no other', () => {
    expect(problemsOfVerbs(createProgram(silent))).toEqual([]);
  });

  it('has options with a help text, which mean the same everywhere', () => {
    expect(problemsOfOptions(createProgram(silent))).toEqual([]);
  });

  it('says in its help which options are required, and which values they take', () => {
    for (const leaf of leavesOf(createProgram(silent))) {
      const help = leaf.createHelp();
      const information = leaf.helpInformation().replaceAll(/\s+/g, ' ');
      for (const option of leaf.options) {
        const line = `${option.flags} ${help.optionDescription(option)}`;
        expect(information).toContain(line);
        expect(line.includes('(required)'), `${pathOf(leaf)} ${line}`).toBe(option.mandatory);
        for (const choice of option.argChoices ?? []) expect(line).toContain(`"${choice}"`);
      }
    }
  });

  it.each(everyExample)('$path takes its example: $words', async ({ path, words }) => {
    const { said, reached } = await parsed(words);
    expect(said).toBe('');
    if (path === '') expect(commandTable).toHaveProperty([reached]);
    else expect(reached).toBe(path);
  });

  it('is found without an example, a verb or help for its options (canary)', () => {
    const program = createProgram(silent);
    const group = program.commands.find((command) => command.name() === 'user');
    group?.command('frobnicate').option('--tenant <name>').option('--limit <number>', 'something else');
    expect(problemsOfTable(program)).toEqual([
      'user frobnicate: no description',
      'user frobnicate: no example',
    ]);
    expect(problemsOfVerbs(program)).toEqual(['user frobnicate: not one verb']);
    expect(problemsOfOptions(program)).toEqual([
      'user frobnicate --tenant: no help',
      '--tenant: differs',
      '--limit: differs',
    ]);
  });

  it.each([
    [['user', 'show', '--tenant', 'demo', '--nonsense'], "unknown option '--nonsense'"],
    [['user', 'list', '--tenant', 'demo', '-o', 'xml'], 'Allowed choices are json, yaml, table.'],
    [['user', 'list', '--tenant', 'demo', '--limit', 'x'], 'It must be a whole number above 0.'],
    [['keys', 'revoke'], "required option '--kid <kid>' not specified"],
    [['role', 'get', '--tenant', 'demo'], 'Name the role'],
    [['import', 'keycloak'], "missing required argument 'files'"],
    [['nonsense'], "unknown command 'nonsense'"],
  ])('is not reached by the example %j (canary)', async (words, problem) => {
    const { said, reached } = await parsed(words);
    expect(said).toContain(problem);
    expect(reached).toBe('');
  });
});

/** What a person reads. */
async function printed(...words: readonly string[]) {
  let [out, said] = ['', ''];
  const code = await run(words, { ...silent, out: (text) => (out += text), say: (text) => (said += text) });
  return { code, out, said };
}

describe('help', () => {
  const examplesOf = async (...words: readonly string[]) => {
    const { out } = await printed(...words, '--help');
    return out.split('\n\nExamples:\n')[1]?.split('\n');
  };

  it('ends with examples, of a group with those of its commands', async () => {
    expect(await examplesOf('user', 'show')).toEqual([
      '  tessera user show eve --tenant demo',
      expect.stringMatching(/^ {2}tessera user show --user-id usr_\S+ --tenant demo$/) as string,
      '',
    ]);
    expect(await examplesOf('flow')).toEqual([
      '  tessera flow device --client-id demo-tv',
      expect.stringMatching(/^ {2}tessera flow ciba --client-id demo-ciba /) as string,
      '',
    ]);
    expect(await examplesOf()).toEqual([
      expect.stringMatching(/^ {2}tessera login /) as string,
      '  tessera user list --tenant demo',
      '  tessera apply -f tessera.yaml',
      '',
    ]);
  });

  it('says no default that is nothing, and every other one', async () => {
    const { out } = await printed('session', 'list', '--help');
    expect(out).toContain('(default: 100)');
    expect((await printed('user', 'update', '--help')).out).not.toMatch(/default: (false|"")/);
  });

  it('names required options in the line of usage', async () => {
    expect((await printed('client-config', '--help')).out).toMatch(
      /^Usage: tessera client-config --file <path> \[options\] <client> <stack>\n/,
    );
  });
});

describe('an error of usage', () => {
  it.each([
    [
      ['keys', 'revoke', '--kidd', 'x', '--kid', 'x'],
      "error: unknown option '--kidd' (Did you mean --kid?)",
      'keys revoke --kid <kid> [options]',
    ],
    [
      ['flow', 'devise'],
      "error: unknown command 'devise' (Did you mean device?)",
      'flow [options] [command]',
    ],
    [['logn'], "error: unknown command 'logn' (Did you mean login?)", '[options] [command]'],
    [['why'], "error: missing required argument 'reference'", 'why [options] <reference>'],
    [['flow', 'device'], 'error: --client-id or TESSERA_CLIENT_ID is required.', 'flow device [options]'],
  ])(
    'of %j has three lines: what is wrong, the usage, and where it is explained',
    async (words, error, usage) => {
      const command = usage.replace(/ ?(--kid <kid>|\[options\]).*/, '');
      expect(await printed(...words)).toEqual({
        code: 2,
        out: '',
        said: `${error}\nUsage: tessera ${usage}\n${`tessera ${command}`.trim()} --help explains it.\n`,
      });
    },
  );
});

describe('a former verb', () => {
  it.each(Object.entries(formerVerbs))('still calls %s as %s, and is in no help', async (path, former) => {
    const [noun = ''] = path.split(' ');
    const [example = ''] = commandTable[path] ?? [];
    const { said, reached } = await parsed(wordsOf(`${noun} ${former}`, example));
    expect([said, reached]).toEqual(['', path]);
    for (const words of [
      [noun, '--help'],
      [...path.split(' '), '--help'],
    ])
      expect((await printed(...words)).out).not.toMatch(new RegExp(`\\b${former}\\b`));
  });
});
