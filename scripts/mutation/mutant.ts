/** One small change to one source file, which some test should notice. */
export interface Mutant {
  /** From the root of the repository. */
  readonly path: string;
  /** What the change is in: TypeScript, or the text of a SQL statement or a Redis script. */
  readonly language: 'code' | 'sql' | 'redis';
  readonly line: number;
  /** The line in the source, without indentation. */
  readonly text: string;
  /** For example `a < b → a <= b`. */
  readonly change: string;
  readonly edit: Edit;
}

/** Replaces the characters from `start` to before `end`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** Names a mutant by what does not change when lines move. */
export const keyOf = ({ path, text, change }: Pick<Mutant, 'path' | 'text' | 'change'>): string =>
  [path, text, change].join('\n');

export function applyEdit(source: string, { start, end, replacement }: Edit): string {
  return source.slice(0, start) + replacement + source.slice(end);
}

/**
 * The mutant that an edit of `source` makes; `shown` is the part that the change is described with, by default the
 * edit's own.
 */
export function describeMutant(
  path: string,
  source: string,
  language: Mutant['language'],
  edit: Edit,
  shown: { readonly start: number; readonly end: number } = edit,
): Mutant {
  const lineStart = source.lastIndexOf('\n', edit.start) + 1;
  const lineEnd = source.indexOf('\n', edit.start);
  const after =
    source.slice(shown.start, edit.start) +
    edit.replacement +
    source.slice(edit.end, Math.max(shown.end, edit.end));
  return {
    path,
    language,
    line: source.slice(0, edit.start).split('\n').length,
    text: source.slice(lineStart, lineEnd === -1 ? undefined : lineEnd).trim(),
    change: `${shorten(source.slice(shown.start, shown.end))} → ${shorten(after) || '(removed)'}`,
    edit,
  };
}

const shorten = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > 70 ? `${line.slice(0, 45)} … ${line.slice(-22)}` : line;
};
