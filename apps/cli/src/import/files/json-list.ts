const isSpace = (character: string | undefined): boolean =>
  character !== undefined && ' \t\n\r'.includes(character);

/**
 * The entries of a list in JSON, one after the other, so that nobody needs memory for all of them. The text is the
 * list, or an object that has it under `key`; undefined if it is neither. Throws SyntaxError for what is not JSON,
 * without a part of it, at once or with the entry that is none.
 */
export function listInJson(text: string, key: string): Iterable<unknown> | undefined {
  const start = afterSpace(text, text.startsWith('\uFEFF') ? 1 : 0);
  if (text[start] === '[') {
    requireEnd(text, endOfValue(text, start));
    return listAt(text, start);
  }
  if (text[start] !== '{') {
    parsed(text.slice(start));
    return undefined;
  }
  const lists: number[] = [];
  const end = eachPart(text, start, '}', (from) => {
    const endOfKey = endOfValue(text, from);
    const name = parsed(text.slice(from, endOfKey));
    const colon = afterSpace(text, endOfKey);
    if (typeof name !== 'string' || text[colon] !== ':') throw notJson();
    const value = afterSpace(text, colon + 1);
    const endOfMember = endOfValue(text, value);
    if (name !== key) parsed(text.slice(value, endOfMember));
    else lists.push(value);
    return endOfMember;
  });
  requireEnd(text, end);
  // As the parser does, if a key is there twice.
  const list = lists.at(-1) ?? text.length;
  return text[list] === '[' ? listAt(text, list) : undefined;
}

function listAt(text: string, start: number): Iterable<unknown> {
  return { [Symbol.iterator]: () => entriesOf(text, start) };
}

function* entriesOf(text: string, start: number): Generator<unknown> {
  let at = afterSpace(text, start + 1);
  if (text[at] === ']') return;
  for (;;) {
    const end = endOfValue(text, at);
    yield parsed(text.slice(at, end));
    const next = afterSpace(text, end);
    if (text[next] === ']') return;
    if (text[next] !== ',') throw notJson();
    at = afterSpace(text, next + 1);
  }
}

/** Calls for each part of what begins at `start`, to learn where the part ends. Returns the end of the whole. */
function eachPart(text: string, start: number, close: string, part: (from: number) => number): number {
  let at = afterSpace(text, start + 1);
  if (text[at] === close) return at + 1;
  for (;;) {
    const next = afterSpace(text, part(at));
    if (text[next] === close) return next + 1;
    if (text[next] !== ',') throw notJson();
    at = afterSpace(text, next + 1);
  }
}

/** Behind the value that begins at `start`, by its brackets and quotes alone. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfText(text, at);
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') {
      if (depth === 0) return at;
      depth -= 1;
    } else if (depth > 0 || !(character === ',' || character === ':' || isSpace(character))) continue;
    else return at;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

/** Where the text ends that begins at `start`: at its quote. */
function endOfText(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at;
  }
  throw notJson();
}

function afterSpace(text: string, start: number): number {
  let at = start;
  while (isSpace(text[at])) at += 1;
  return at;
}

function requireEnd(text: string, end: number): void {
  if (afterSpace(text, end) !== text.length) throw notJson();
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
