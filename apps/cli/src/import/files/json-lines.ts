import { CommandError } from '../../terminal.ts';

/**
 * The values of a text that has one JSON value a line, one after the other. Throws CommandError with the line, without
 * a part of it, where it comes to one that is none.
 */
export function linesInJson(text: string): Iterable<unknown> {
  return { [Symbol.iterator]: () => valuesOf(text) };
}

/** Whether the first line that is not empty is a JSON object by itself. */
export function isJsonLines(text: string): boolean {
  for (const line of linesOf(text)) {
    if (line === '') continue;
    try {
      JSON.parse(line);
      return line.startsWith('{');
    } catch {
      return false;
    }
  }
  return false;
}

function* valuesOf(text: string): Generator<unknown> {
  let number = 0;
  for (const line of linesOf(text)) {
    number += 1;
    if (line !== '') yield parsed(line, number);
  }
}

function* linesOf(text: string): Generator<string> {
  let start = text.startsWith('\uFEFF') ? 1 : 0;
  while (start < text.length) {
    const end = text.indexOf('\n', start);
    const next = end === -1 ? text.length : end;
    yield text.slice(start, next).trim();
    start = next + 1;
  }
}

/** The parser's message repeats a part of the text. */
function parsed(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new CommandError(`The file is not JSON (line ${number}).`);
  }
}
