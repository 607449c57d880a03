import { parseAst } from 'vitest/node';
import { findCodeEdits } from './code-mutants.ts';
import { applyEdit, describeMutant, keyOf, type Edit, type Mutant } from './mutant.ts';
import { findStatementEdits, languageOf } from './statement-mutants.ts';

/** All mutants of one TypeScript file. Those that do not parse, or that another one equals, are left out. */
export function findMutants(path: string, source: string): Mutant[] {
  const { edits, texts } = findCodeEdits(path, source);
  const code = edits.map(({ edit, shown }) => describeMutant(path, source, 'code', edit, shown));
  const statements = texts.flatMap(({ start, end }) => {
    const literal = source.slice(start, end);
    const language = languageOf(literal);
    if (language === undefined) return [];
    return findStatementEdits(literal, language).map((edit) => {
      const placed = moveBy(edit, start);
      return describeMutant(path, source, language, placed, surroundingLine(source, placed));
    });
  });
  const distinct = new Map(
    [...code, ...statements].map((mutant) => [`${keyOf(mutant)}\n${mutant.line}`, mutant]),
  );
  return [...distinct.values()]
    .filter(
      ({ edit }) =>
        source.slice(edit.start, edit.end) !== edit.replacement && parses(path, applyEdit(source, edit)),
    )
    .toSorted((a, b) => a.edit.start - b.edit.start);
}

const moveBy = ({ start, end, replacement }: Edit, offset: number): Edit => ({
  start: start + offset,
  end: end + offset,
  replacement,
});

/** A short edit is described with what stands around it on its line. */
function surroundingLine(source: string, { start, end }: Edit): { start: number; end: number } {
  if (end - start > 8) return { start, end };
  const lineStart = source.lastIndexOf('\n', start) + 1;
  const lineEnd = source.indexOf('\n', end);
  return {
    start: Math.max(lineStart, start - 25),
    end: Math.min(lineEnd === -1 ? source.length : lineEnd, end + 25),
  };
}

function parses(path: string, source: string): boolean {
  try {
    parseAst(source, { lang: 'ts' }, path);
    return true;
  } catch {
    return false;
  }
}
