import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { systemRandom } from '@tessera/kit';

/** What was answered: in words without what differs from one time to the next, and as it was. */
export interface Answer {
  readonly words: string;
  readonly text: string;
  /** Whether the values are still as good as they were. */
  readonly tookNothing?: boolean;
}

/** A tenant that asks. */
interface Asking {
  readonly id: string;
}

/** A request that a tenant may make, and its values, which another tenant tries too. */
export interface GoodRequest<P extends Asking> {
  /** Such as "UsersService.Get". */
  readonly name: string;
  /**
   * Made anew by each call. `owns`: of something that is there; `asks`: of the tenant that tries values of the
   * other in their place.
   */
  values(of: P, role: 'owns' | 'asks'): Promise<JsonObject>;
  /** @param owner of the values of the other tenant, and these values */
  ask(as: P, values: JsonObject, owner: P, owned: JsonObject): Promise<Answer>;
  /** Whether it changes nothing, so that its values are as good afterwards. */
  readonly reads?: boolean;
  /** Names of values that say where a request arrives: tried alone, and together with all others. */
  readonly doors?: readonly string[];
  /** Names of values that stay those of who asks. */
  readonly within?: readonly string[];
  /** Whether all values together are a request of their owner. */
  readonly apart?: true;
  /** Names of values that tell nothing of their owner, and are answered otherwise than unknown ones. */
  readonly open?: readonly string[];
  /** Whether an answer is one to who may not ask at all, so that no value was tried. */
  readonly untried?: (words: string) => boolean;
}

type Path = readonly string[];

/** What was tried, and why its answer is not good; undefined if it is. */
export interface Tried {
  readonly crossing: string;
  readonly problem: string | undefined;
}

/**
 * Sends the values of `theirs` as `ours`: each alone, and all. Good: they are answered as unknown values are, and
 * their owner otherwise.
 */
export async function* cross<P extends Asking>(
  good: GoodRequest<P>,
  ours: P,
  theirs: P,
): AsyncGenerator<Tried> {
  let owned = await good.values(theirs, 'owns');
  let mine = await good.values(ours, 'asks');
  let areGood = true;
  let unknown: string | undefined;
  for (const choice of choicesOf(placesOf(mine, owned), good)) {
    if (!areGood) owned = await good.values(theirs, 'owns');
    const answer = async (change: (value: string) => string): Promise<string> => {
      const changed = choice.map((path) => [path, change(textAt(owned, ...path))] as const);
      if (!areGood) mine = await good.values(ours, 'asks');
      const { words, text, tookNothing } = await good.ask(ours, withValues(mine, changed), theirs, owned);
      areGood = tookNothing === true || good.reads === true;
      const asked = changed.map(([, value]) => value);
      return (
        without(words, asked) + (without(text, asked).includes(theirs.id) ? ' (tells of the owner)' : '')
      );
    };
    unknown = await answer(randomLike);
    const crossed = await answer((value) => value);
    const isOpen = choice.some((path) => good.open?.includes(path.at(-1) ?? ''));
    const isSame = isOpen ? !crossed.endsWith('(tells of the owner)') : crossed === unknown;
    const crossing = `${good.name} with ${choice.map((path) => path.join('.')).join(', ')}`;
    const atDoor = choice.some((path) => good.doors?.includes(path.at(-1) ?? ''));
    if (!isSame) yield { crossing, problem: `answered "${crossed}", an unknown value "${unknown}"` };
    else if (!atDoor && good.untried?.(unknown) === true)
      yield { crossing, problem: `not tried, as who asks is answered "${unknown}"` };
    else yield { crossing, problem: undefined };
  }
  if (unknown === undefined) return;
  // The control comes after them: they took nothing from the owner.
  const own = without((await good.ask(theirs, owned, theirs, owned)).words, textsOf(owned));
  if (own === unknown)
    yield { crossing: good.name, problem: `not known, as the owner is answered "${own}" too` };
}

/** Places of texts that another request of the same kind has otherwise. */
function placesOf(value: JsonValue | undefined, other: JsonValue | undefined, path: Path = []): Path[] {
  if (typeof value === 'string') return typeof other === 'string' && value !== other ? [path] : [];
  if (typeof value !== 'object' || value === null || typeof other !== 'object' || other === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    placesOf(inner, (other as JsonObject)[name], [...path, name]),
  );
}

/** One value, all but the doors, and all. */
function choicesOf(all: readonly Path[], { doors = [], within = [], apart }: GoodRequest<never>): Path[][] {
  const places = all.filter((path) => !within.includes(path.at(-1) ?? ''));
  const inside = places.filter((path) => !doors.includes(path.at(-1) ?? ''));
  const groups = apart === true ? [] : [inside, ...(inside.length > 0 ? [[...places]] : [])];
  const lengths = new Set([0, 1]);
  return [
    ...places.map((path) => [path]),
    ...groups.filter(({ length }) => !lengths.has(length) && lengths.add(length)),
  ];
}

function withValues(request: JsonObject, values: readonly (readonly [Path, string])[]): JsonObject {
  const changed = structuredClone(request);
  for (const [path, value] of values) {
    let inner = changed;
    for (const name of path.slice(0, -1)) inner = inner[name] as JsonObject;
    inner[path.at(-1) ?? ''] = value;
  }
  return changed;
}

/** The text at a path; '' if there is none. */
export function textAt(value: JsonValue | undefined, ...path: Path): string {
  let found = value;
  for (const name of path) found = (found as JsonObject | undefined)?.[name];
  return typeof found === 'string' ? found : '';
}

function textsOf(value: JsonValue): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

function without(text: string, values: readonly string[]): string {
  const longestFirst = values
    .filter((value) => value !== '')
    .toSorted((one, other) => other.length - one.length);
  return longestFirst
    .flatMap((value) => [value, encodeURIComponent(value)])
    .reduce((rest, value) => rest.replaceAll(value, '…'), text);
}

/** An answer in JSON, in words: of each value its type, of a list its first, and the sentences of errors. */
export function wordsOf(value: JsonValue | undefined, name = ''): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map((each) => wordsOf(each));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, wordsOf(inner, key)]));
  return /error|message/.test(name) || typeof value === 'boolean' ? value : typeof value;
}

/** A value of the same form that nobody was given: prefixes such as `tc_` stay, and of a JWT all but the signature. */
export function randomLike(value: string): string {
  const kept = /^(?:\w{2,3}_|https:\/\/|eyJ[\w-]+\.[\w-]+\.)/.exec(value)?.[0] ?? '';
  const bytes = systemRandom.bytes(value.length);
  // User codes have no vowels (RFC 8628 §6.1).
  const sets = ['bcdfghjklmnpqrstvwxz', 'BCDFGHJKLMNPQRSTVWXZ', '123456789'];
  const characters = Array.from(value.slice(kept.length), (character, at) => {
    const set = [/[a-z]/, /[A-Z]/, /\d/].findIndex((pattern) => pattern.test(character));
    return sets[set]?.[(bytes[at] ?? 0) % (sets[set]?.length ?? 1)] ?? character;
  });
  return kept + characters.join('');
}
