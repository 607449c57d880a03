import { CommandError } from '../../terminal.ts';
import { textSource, type JsonSource } from './json-source.ts';

/** What gives a text its structure. */
const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c];
const [listStart, listEnd, objectStart, objectEnd] = [0x5b, 0x5d, 0x7b, 0x7d];

/** What reads values calls itself for each level, and programs write few. */
const mostLevels = 200;

/** A value is nested deeper than it may be. */
export class TooDeepError extends CommandError {
  /** What the file has, and where. */
  readonly problem: string;

  constructor(place: number) {
    const problem = `has more than ${mostLevels} levels of lists and objects, at position ${place + 1}`;
    super(`The file ${problem}.`);
    this.problem = problem;
  }
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;

/**
 * The entries of a list in JSON, one after the other, so that nobody needs memory for all of them. The text is the
 * list, or an object that has it under `key`; undefined if it is neither. Throws SyntaxError for what is not JSON,
 * without a part of it, at once or with the entry that is none, and TooDeepError.
 */
export function listInJson(text: string, key: string): Iterable<unknown> | undefined {
  const source = textSource(text);
  const start = afterSpace(source, 0);
  if (source.codeAt(start) === listStart) {
    requireEnd(source, endOfValue(source, start));
    return listAt(source, start);
  }
  if (source.codeAt(start) !== objectStart) {
    parsed(source.text(start, source.size));
    return undefined;
  }
  const { list, end, isList } = withoutList(source, start, key);
  requireEnd(source, end);
  return isList ? list : undefined;
}

/** An object in JSON without a list of it, and that list. */
export interface WithoutList {
  /** With an empty list in its place. */
  readonly value: unknown;
  readonly list: Iterable<unknown>;
}

/**
 * The object in JSON, or those of a list, each without the list that it has under `key`. Values that are no objects are
 * as they are. Throws as `listInJson`.
 */
export function objectsInJson(source: JsonSource, key: string): readonly WithoutList[] {
  const start = afterSpace(source, 0);
  const found: WithoutList[] = [];
  const read = (from: number): number => {
    const isObject = source.codeAt(from) === objectStart;
    const object = isObject ? withoutList(source, from, key) : valueAt(source, from);
    found.push({ value: object.value, list: object.list });
    return object.end;
  };
  const end = source.codeAt(start) === listStart ? eachPart(source, start, listEnd, read) : read(start);
  requireEnd(source, end);
  return found;
}

function valueAt(source: JsonSource, from: number) {
  const end = endOfValue(source, from);
  return { value: parsed(source.text(from, end)), list: [], end };
}

/** The object that begins at `start`, the list under its last key of this name, and where the object ends. */
function withoutList(source: JsonSource, start: number, key: string) {
  const texts: string[] = [];
  let [kept, list] = [start, -1];
  const end = eachPart(source, start, objectEnd, (from) => {
    const endOfKey = endOfValue(source, from);
    const name = parsed(source.text(from, endOfKey));
    const separator = afterSpace(source, endOfKey);
    if (typeof name !== 'string' || source.codeAt(separator) !== colon) throw notJson();
    const value = afterSpace(source, separator + 1);
    const endOfMember = endOfValue(source, value);
    if (name !== key) return endOfMember;
    list = -1;
    if (source.codeAt(value) !== listStart) return endOfMember;
    list = value;
    texts.push(`${source.text(kept, value)}[]`);
    kept = endOfMember;
    return endOfMember;
  });
  texts.push(source.text(kept, end));
  return {
    value: parsed(texts.join('')),
    isList: list !== -1,
    list: list === -1 ? [] : listAt(source, list),
    end,
  };
}

function listAt(source: JsonSource, start: number): Iterable<unknown> {
  return { [Symbol.iterator]: () => entriesOf(source, start) };
}

function* entriesOf(source: JsonSource, start: number): Generator<unknown> {
  let at = afterSpace(source, start + 1);
  if (source.codeAt(at) === listEnd) return;
  for (;;) {
    const end = endOfValue(source, at);
    yield parsed(source.text(at, end));
    const next = afterSpace(source, end);
    if (source.codeAt(next) === listEnd) return;
    if (source.codeAt(next) !== comma) throw notJson();
    at = afterSpace(source, next + 1);
  }
}

/** Calls for each part of what begins at `start`, to learn where the part ends. Returns the end of the whole. */
function eachPart(source: JsonSource, start: number, close: number, part: (from: number) => number): number {
  let at = afterSpace(source, start + 1);
  if (source.codeAt(at) === close) return at + 1;
  for (;;) {
    const next = afterSpace(source, part(at));
    if (source.codeAt(next) === close) return next + 1;
    if (source.codeAt(next) !== comma) throw notJson();
    at = afterSpace(source, next + 1);
  }
}

/** Behind the value that begins at `start`, by its brackets and quotes alone. */
function endOfValue(source: JsonSource, start: number): number {
  let depth = 0;
  for (let at = start; at < source.size; at += 1) {
    const code = source.codeAt(at);
    if (code === quote) at = endOfText(source, at);
    else if (code === listStart || code === objectStart) {
      depth += 1;
      if (depth > mostLevels) throw new TooDeepError(at);
    } else if (code === listEnd || code === objectEnd) {
      if (depth === 0) return at;
      depth -= 1;
    } else if (depth > 0 || !(code === comma || code === colon || isSpace(code))) continue;
    else return at;
    if (depth === 0) return at + 1;
  }
  return source.size;
}

/** Where the text ends that begins at `start`: at its quote. */
function endOfText(source: JsonSource, start: number): number {
  for (let at = start + 1; at < source.size; at += 1) {
    const code = source.codeAt(at);
    if (code === backslash) at += 1;
    else if (code === quote) return at;
  }
  throw notJson();
}

function afterSpace(source: JsonSource, start: number): number {
  let at = start;
  while (isSpace(source.codeAt(at))) at += 1;
  return at;
}

function requireEnd(source: JsonSource, end: number): void {
  if (afterSpace(source, end) < source.size) throw notJson();
}

/** The parser's message repeats a part of the text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notJson();
  }
}

function notJson(): SyntaxError {
  return new SyntaxError('This is not JSON.');
}
