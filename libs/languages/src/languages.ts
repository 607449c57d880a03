import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { IntlMessageFormat } from 'intl-messageformat';

/** The values of a sentence, by name. */
export type Values = Readonly<Record<string, string | number>>;

/** What others have written for people: a text, and the same by the BCP 47 tag of a language. */
export interface OwnWords {
  /** Empty without one; it may be a sentence of ours, with its values. */
  readonly description: string;
  readonly values?: Values;
  readonly descriptions?: Readonly<Record<string, string>>;
}

/** A time in a sentence of a page, in milliseconds since the Unix epoch: a script shows it where the reader is. */
export interface Moment {
  readonly time: number;
}

/**
 * The sentences of pages in one language. A sentence is named by its English text, in ICU MessageFormat where it has
 * values; one that is not known is shown as it is.
 */
export interface Language {
  /** The BCP 47 tag, for `lang`. */
  readonly tag: string;
  /** For `dir`. */
  readonly direction: 'ltr' | 'rtl';
  /** A sentence as text. */
  t(text: string, values?: Values): string;
  /** A time in milliseconds since the Unix epoch, in UTC. */
  when(time: number): string;
  /** What others have written, in this language if they have. */
  own(words: OwnWords): string;
  /** A sentence as HTML: its values escaped, times as elements, and `<b>` made strong. */
  html(text: string, values: Readonly<Record<string, string | number | Moment>>): string;
}

export interface Languages {
  readonly tags: readonly string[];
  /** The language of a tag; English for one that is not known. */
  of(tag: string): Language;
  /**
   * The first of these tags, separated by spaces, that is known; undefined if none is (`ui_locales`, OIDC Core
   * §3.1.2.1).
   */
  first(uiLocales: string): string | undefined;
}

const builtIn = fileURLToPath(new URL('../messages/', import.meta.url));
const english = 'en';

/** ISO 15924. */
const scriptsFromTheRight: ReadonlySet<string> = new Set(['Adlm', 'Arab', 'Hebr', 'Nkoo', 'Syrc', 'Thaa']);

type Messages = Readonly<Record<string, string>>;

/**
 * Reads the languages, once.
 * @param folder files of an operator, each named as its language: they add languages and replace sentences of those
 * that are built in
 * @throws Error that names the file and the sentence that cannot be used
 */
export function loadLanguages(folder?: string): Languages {
  const known = readOurs(english);
  const languages = new Map<string, Language>();
  const ofUs = tagsIn(builtIn);
  const ofOperator = folder === undefined ? [] : tagsIn(folder);
  for (const tag of new Set([english, ...ofUs, ...ofOperator])) {
    const replaced = folder !== undefined && ofOperator.includes(tag) ? readMessages(folder, tag) : {};
    checkMessages(tag, replaced, known);
    const messages = { ...(ofUs.includes(tag) ? readOurs(tag) : {}), ...replaced };
    languages.set(tag, languageOf(tag, messages, known));
  }
  const of = (tag: string): Language => {
    const found = languages.get(tag) ?? languages.get(english);
    if (found === undefined) throw new Error('English is not among the languages');
    return found;
  };
  const isIn = (asked: string) => (tag: string) =>
    asked.toLowerCase() === tag.toLowerCase() || asked.toLowerCase().startsWith(`${tag.toLowerCase()}-`);
  return {
    tags: [...languages.keys()],
    of,
    first(uiLocales) {
      for (const asked of uiLocales.split(' ')) {
        const tag = [...languages.keys()].find(isIn(asked));
        if (tag !== undefined) return tag;
      }
      return undefined;
    },
  };
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    throw new Error(`The messages of TESSERA_MESSAGES_DIR cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function tagsIn(folder: string): string[] {
  return filesIn(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length));
}

/** The sentences of a language that is built in: those of its file, and of its files in the folders of topics. */
export function readOurs(tag: string): Messages {
  const topics = readdirSync(builtIn, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const folders = [builtIn, ...topics.map(({ name }) => join(builtIn, name))];
  return Object.assign({}, ...folders.map((folder) => readMessages(folder, tag))) as Messages;
}

/** The sentences of a file: their texts by the English ones. */
export function readMessages(folder: string, tag: string): Messages {
  const file = join(folder, `${tag}.json`);
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file} is not JSON: ${(error as Error).message}`, { cause: error });
  }
  const isTexts =
    typeof content === 'object' &&
    !Array.isArray(content) &&
    content !== null &&
    Object.values(content).every((text) => typeof text === 'string');
  if (!isTexts) throw new Error(`${file} must be an object of texts.`);
  return content as Messages;
}

/**
 * Tries the texts of a language with values for each name that the English sentence has; those of sentences that nobody
 * knows are never shown.
 * @throws Error that names the file and the sentence that cannot be used
 */
export function checkMessages(tag: string, messages: Messages, known: Messages): void {
  for (const key of Object.keys(known)) {
    const text = messages[key];
    if (text === undefined) continue;
    try {
      formatOf(text, tag).format(probesFor(key));
    } catch (error) {
      throw new Error(`${tag}.json: "${text}" cannot be used: ${(error as Error).message}`, { cause: error });
    }
  }
}

function languageOf(tag: string, messages: Messages, known: Messages): Language {
  const parsed = new Map<string, IntlMessageFormat>();
  // To parse all of them at the start would take a twentieth of it, and a process shows few.
  const formats = {
    get(key: string): IntlMessageFormat | undefined {
      const before = parsed.get(key);
      if (before !== undefined || !Object.hasOwn(known, key)) return before;
      const format = formatOf(messages[key] ?? key, messages[key] === undefined ? english : tag);
      parsed.set(key, format);
      return format;
    },
  };
  /** Services put numbers into their sentences. */
  function numbered(text: string): string | undefined {
    const [number, another] = text.match(/\d+/g) ?? [];
    if (number === undefined || another !== undefined) return undefined;
    const found = formats.get(text.replace(number, '{number}'));
    return found && String(found.format({ number: Number(number) }));
  }
  let times: Intl.DateTimeFormat | undefined;
  const direction = scriptsFromTheRight.has(new Intl.Locale(tag).maximize().script ?? '') ? 'rtl' : 'ltr';
  /** Addresses and names from the left must not mix with a sentence from the right (UAX #9, FSI and PDI). */
  const isolated = (values: Values): Values =>
    direction === 'ltr'
      ? values
      : Object.fromEntries(
          Object.entries(values).map(([name, value]) => [
            name,
            typeof value === 'string' ? `\u2068${value}\u2069` : value,
          ]),
        );
  const when = (time: number) => {
    times ??= new Intl.DateTimeFormat(tag, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
    return `${times.format(time)} UTC`;
  };
  const timeElement = ({ time }: Moment) =>
    Number.isFinite(time)
      ? `<time datetime="${new Date(time).toISOString()}">${escape(when(time))}</time>`
      : '';
  const t = (text: string, values: Values = {}) => {
    // What others have written may equal a sentence whose values it does not have.
    if (text.includes('{') && Object.keys(values).length === 0) return text;
    const format = formats.get(text);
    return format === undefined
      ? (numbered(text) ?? text)
      : String(format.format({ ...isolated(values), b: joined }));
  };
  return {
    tag,
    when,
    direction,
    t,
    own({ description, values, descriptions = {} }) {
      const inLanguage = descriptions[tag] ?? descriptions[tag.split('-')[0] ?? ''];
      // Better in English than not at all.
      return inLanguage ?? (description === '' ? (descriptions[english] ?? '') : t(description, values));
    },
    html(text, values) {
      const found = formats.get(text);
      if (found === undefined) return escape(text);
      const escaped = Object.entries(values).map(([name, value]) => [
        name,
        typeof value === 'object' ? timeElement(value) : escape(String(isolated({ value })['value'])),
      ]);
      const bold = (inner: string[]) => `<strong>${joined(inner)}</strong>`;
      return String(found.format({ ...Object.fromEntries(escaped), b: bold } as Record<string, string>));
    },
  };
}

const joined = (inner: string[]): string => inner.join('');

/** A value for each name in a sentence. */
function probesFor(text: string) {
  const names = [...text.matchAll(/\{(\w+)[,}]/g)].map(([, name = '']) => [name, 1] as const);
  return { ...Object.fromEntries(names), b: joined };
}

/** @throws Error for markup other than `<b>`, which would reach the page. */
function formatOf(text: string, tag: string): IntlMessageFormat {
  if (/[<>&]/.test(text.replaceAll(/<\/?b>/g, ''))) throw new Error('it may have no markup but <b>');
  return new IntlMessageFormat(text, tag);
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}
