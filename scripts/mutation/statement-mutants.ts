/**
 * Changes to SQL statements and Redis scripts, which are strings in the source. A changed statement is still valid and
 * has the same parameters: a mutant that Postgres refuses would count as killed and prove nothing. So a condition is
 * not removed but made true (`(c OR true)`), or false where it is one of several alternatives.
 */
import type { Edit } from './mutant.ts';

const sql = /\b(?:SELECT|INSERT INTO|DELETE FROM|WHERE|IS NULL|(?:clock|statement)_timestamp)\b/;
const redis = /\bredis\.call\(/;

/** The language of a string in the source, if it is a statement or a part of one. */
export function languageOf(literal: string): 'sql' | 'redis' | undefined {
  if (redis.test(literal)) return 'redis';
  return sql.test(literal) ? 'sql' : undefined;
}

/** The changes to a statement, with offsets from the start of its literal (the quote). */
export function findStatementEdits(literal: string, language: 'sql' | 'redis'): Edit[] {
  const text = maskEmbedded(literal);
  if (language === 'redis') return redisChanges.flatMap((change) => applyChange(text, change));
  return [
    ...findConditions(text).map((condition) => disarm(literal, condition)),
    ...sqlChanges.flatMap((change) => applyChange(text, change)),
  ];
}

/** Hides the literal's own quotes, `${}` and quoted text, so that their content is not read as the statement's. */
function maskEmbedded(literal: string): string {
  let depth = 0;
  let masked = '';
  for (let index = 0; index < literal.length; index += 1) {
    const character = literal[index] ?? '';
    if (depth > 0 && character === '}') depth -= 1;
    else if (character === '{' && (depth > 0 || literal[index - 1] === '$')) depth += 1;
    else if (depth === 0 && index > 0 && index < literal.length - 1) {
      masked += character;
      continue;
    }
    // The quotes are no part of a word.
    masked += depth > 0 || character === '}' ? '_' : ' ';
  }
  return masked.replaceAll(/'[^'\n]*'/g, (quoted) => `'${'_'.repeat(quoted.length - 2)}'`);
}

/** A condition of WHERE, ON, HAVING or WHEN, or an operand of AND or OR in one. */
interface Condition {
  readonly start: number;
  readonly end: number;
  /** False is the change that makes the condition ineffective. */
  readonly alternative: boolean;
}

interface Operand {
  readonly start: number;
  readonly opener: string;
}

const openers = new Set(['WHERE', 'WHEN', 'HAVING', 'ON', 'AND', 'OR']);
const tokens =
  /\bIS (?:NOT )?DISTINCT FROM\b|\b(?:ON CONFLICT|WHERE|WHEN|HAVING|AND|OR|ON|THEN|BETWEEN|END|ELSE|GROUP BY|ORDER BY|LIMIT|RETURNING|FOR UPDATE|UNION|SET|FROM|JOIN|LEFT|CROSS|SELECT|AS|DO)\b|[(),]/g;

/** Follows the keywords and parentheses of a masked statement. */
function findConditions(text: string): Condition[] {
  const conditions: Condition[] = [];
  const levels: (Operand | undefined)[] = [undefined];
  let between = false;
  const close = (end: number, closer: string): void => {
    const operand = levels.at(-1);
    const inLogic = closer === 'AND' || closer === 'OR';
    if (operand === undefined || (operand.opener === '(' && !inLogic)) return;
    const part = text.slice(operand.start, end);
    const start = operand.start + part.length - part.trimStart().length;
    const alternative = closer === 'OR' || operand.opener === 'OR' || (operand.opener === 'WHEN' && !inLogic);
    if (part.trim() !== '') conditions.push({ start, end: start + part.trim().length, alternative });
  };
  for (const { 0: token, index } of text.matchAll(tokens)) {
    const after = index + token.length;
    if (token.startsWith('IS ')) continue;
    if (token === 'BETWEEN') between = true;
    else if (token === 'AND' && between) between = false;
    else if (token === '(') levels.push({ start: after, opener: token });
    else {
      close(index, token);
      if (token === ')') levels.pop();
      else levels[levels.length - 1] = openers.has(token) ? { start: after, opener: token } : undefined;
    }
  }
  close(text.length - 1, 'the end');
  return conditions;
}

function disarm(literal: string, { start, end, alternative }: Condition): Edit {
  const condition = literal.slice(start, end);
  return { start, end, replacement: alternative ? `(${condition} AND false)` : `(${condition} OR true)` };
}

/** What is changed, and into what; `line` is the line of the match. */
interface Change {
  readonly pattern: RegExp;
  readonly to: (match: string, line: string) => string;
}

const swap = (pairs: Readonly<Record<string, string>>) => (match: string) => pairs[match] ?? match;
const bounds = swap({ '<': '<=', '<=': '<', '>': '>=', '>=': '>' });
const opposites = swap({ '<': '>=', '<=': '>', '>': '<=', '>=': '<' });
const extremes = swap({ LEAST: 'GREATEST', GREATEST: 'LEAST', min: 'max', max: 'min' });

/** Two times are never equal to the microsecond, so a comparison with the clock is reversed instead. */
const comparison: Change = {
  pattern: /(?<= )(?:<=|>=|<|>)(?= )/g,
  to: (operator, line) =>
    /timestamp\(\)|\bnow\b|interval/.test(line) ? opposites(operator) : bounds(operator),
};

const sqlChanges: readonly Change[] = [
  comparison,
  { pattern: /\bFOR UPDATE(?: SKIP LOCKED)?/g, to: () => '' },
  { pattern: /\bON CONFLICT(?: \([^)]*\))? DO NOTHING/g, to: () => '' },
  { pattern: /\bIS (?:NOT )?NULL\b/g, to: swap({ 'IS NULL': 'IS NOT NULL', 'IS NOT NULL': 'IS NULL' }) },
  { pattern: /\b(?:LEAST|GREATEST)\b/g, to: extremes },
  { pattern: /\b(?:true|false)\b/g, to: swap({ true: 'false', false: 'true' }) },
];

const redisChanges: readonly Change[] = [
  comparison,
  { pattern: /(?<= )(?:==|~=)(?= )/g, to: swap({ '==': '~=', '~=': '==' }) },
  { pattern: /(?<= )(?:and|or)(?= )/g, to: swap({ and: 'or', or: 'and' }) },
  { pattern: /(?<=\bif )[^\n]+?(?= then\b)/g, to: () => 'true' },
  { pattern: /(?<=\bif )[^\n]+?(?= then\b)/g, to: () => 'false' },
  { pattern: /(?<=\bmath\.)(?:min|max)\b/g, to: extremes },
  { pattern: /(?<=\n\s*)redis\.call\([^\n]*\)(?=\n)/g, to: () => '' },
];

function applyChange(text: string, { pattern, to }: Change): Edit[] {
  return [...text.matchAll(pattern)].map(({ 0: match, index: start }) => {
    const lineEnd = text.indexOf('\n', start);
    const line = text.slice(text.lastIndexOf('\n', start) + 1, lineEnd === -1 ? undefined : lineEnd);
    return { start, end: start + match.length, replacement: to(match, line) };
  });
}
