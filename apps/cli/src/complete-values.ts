import type { Argument, Option, RootCommand } from '@bomb.sh/tab';
import type { Command } from 'commander';
import type { CallOptions } from '@tessera/rpc/caller';
import type { ClientOf } from './operate/records/service-work.ts';
import { fieldWith, methodOf, nouns, recordOf, type Noun } from './records/nouns.ts';
import type { Terminal } from './terminal.ts';

/** What is asked of the installation: names that may begin with what is typed. */
interface Asked {
  readonly tenantId: string;
  readonly search: string;
  readonly clientOf: ClientOf;
  readonly call: CallOptions;
}

type Names = (asked: Asked) => Promise<readonly string[]>;

const pageSize = 100;

/** What people are called. */
const people = ['username', 'email'];

/** The names that records of a kind have. */
const namesOf =
  (noun: Noun): Names =>
  async ({ clientOf, tenantId, search, call }) => {
    const client = clientOf(noun.service) as unknown as Readonly<
      Record<string, (request: object, call: CallOptions) => Promise<Readonly<Record<string, unknown>>>>
    >;
    const { output } = methodOf(noun, 'list') ?? {};
    const page = { search, pageSize, ...(noun.name !== 'tenant' && { tenantId }) };
    const answer = (await client['list']?.(page, call)) ?? {};
    const found = output && answer[fieldWith(output, recordOf(noun)).localName];
    const keys = noun.name === 'user' ? people : [noun.key];
    return (found as Readonly<Record<string, string>>[]).flatMap((record) =>
      keys.map((key) => record[key] ?? ''),
    );
  };

/** By the name of an option without its dashes, or of an argument: the kind, its list or its key. */
const names: Readonly<Record<string, Names>> = Object.fromEntries(
  nouns.flatMap((noun) => {
    const [option = ''] = noun.keyOption.slice(2).split(' ');
    const called = noun.name === 'user' ? 'person' : noun.name;
    return [called, `${called}s`, option].map((name) => [name, namesOf(noun)]);
  }),
);

/**
 * What a shell may be told: bash expands the words that it is given, so that a name with a command in it would run, and
 * one that begins with a dash is an option.
 */
const harmless = /^[\p{L}\p{N}][\p{L}\p{N}._@+:/-]*$/u;

/** A person waits at the prompt. */
const patienceMs = 2000;

/**
 * Has shells complete the names of tenants, people, applications, roles and APIs, as far as the login may see them.
 * Nothing is completed, and nothing said, if the installation does not answer at once.
 * @param root what the library completes from
 */
export function completeValues(program: Command, root: RootCommand, terminal: Terminal): void {
  program.hook('preAction', async (_, action) => {
    if (action.name() !== 'complete') return;
    const words = [...action.args];
    const typed = words.pop() ?? '';
    const place = placeOf(root, words, typed);
    if (place === undefined) return;
    const { within } = await import('@tessera/kit');
    const found = await within(patienceMs, namesFor(place.names, { words, typed }, terminal)).catch(() => []);
    const handler = (complete: (value: string, description: string) => void): void => {
      for (const name of found) if (harmless.test(name)) complete(name, '');
    };
    place.put(handler);
  });
}

/** Where names are to be completed; undefined if it is something else that is typed. */
function placeOf(root: RootCommand, words: readonly string[], typed: string) {
  const before = words.at(-1) ?? '';
  const plain = words.filter((word, index) => !word.startsWith('-') && !words[index - 1]?.startsWith('--'));
  const key = [3, 2, 1]
    .map((length) => plain.slice(0, length).join(' '))
    .find((name) => root.commands.has(name));
  const command = root.commands.get(key ?? '');
  if (command === undefined) return undefined;
  const option = before.startsWith('--') ? command.options.get(before.slice(2)) : undefined;
  if (option !== undefined && option.isBoolean !== true) return targetOf(option, option.value);
  const isFirst = plain.length === command.value.split(' ').length && !typed.startsWith('-');
  const [argument] = isFirst ? command.arguments.values() : [];
  return argument === undefined ? undefined : targetOf(argument, argument.name);
}

type Handler = (complete: (value: string, description: string) => void) => void;

/** What completes an option or argument; undefined if it is no name. */
function targetOf(target: Argument | Option, name: string) {
  const of = names[name];
  return of && { names: of, put: (handler: Handler) => void (target.handler = handler) };
}

async function namesFor(
  of: Names,
  { words, typed }: { readonly words: readonly string[]; readonly typed: string },
  terminal: Terminal,
): Promise<readonly string[]> {
  const context = valueOf('--context', words);
  const { withService } = await import('./operate/records/with-service.ts');
  const { defaultTenant } = await import('./contexts/default-tenant.ts');
  const { waiting: _, sayOnce: _once, ...quiet } = terminal;
  const silent: Terminal = {
    ...quiet,
    say: () => undefined,
    out: () => undefined,
    reach: () => ({ ...(context !== undefined && { context }), direct: words.includes('--direct') }),
  };
  const tenantId = valueOf('--tenant', words) ?? (await defaultTenant(silent)) ?? '';
  return withService('directory', silent, {
    name: 'Completing',
    changes: false,
    timeoutMs: patienceMs,
    run: async (clientOf, call) => of({ tenantId, search: typed, clientOf, call }),
  });
}

/** What is typed as the value of an option. */
function valueOf(option: string, words: readonly string[]): string | undefined {
  const at = words.indexOf(option);
  const joined = words.find((word) => word.startsWith(`${option}=`));
  return at === -1 ? joined?.slice(option.length + 1) : words[at + 1];
}
