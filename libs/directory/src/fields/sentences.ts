import type { z } from 'zod';

const nouns: Readonly<Record<string, string>> = {
  string: 'text; put it in quotes',
  array: 'a list',
  object: 'a set of keys',
  boolean: 'true or false',
};

/** Sentences without the values they speak of. */
export function sentence(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${nouns[issue.expected] ?? issue.expected}`;
    case 'invalid_key':
      return issue.issues[0]?.message;
    case 'too_small':
      return `must have at least ${count(Number(issue.minimum), issue.origin)}`;
    case 'too_big':
      return `must have at most ${count(Number(issue.maximum), issue.origin)}`;
    case 'invalid_value':
      return issue.input === undefined ? 'is required' : `must be one of ${issue.values.join(', ')}`;
    default:
      return undefined;
  }
}

function count(number: number, origin: string): string {
  const noun = origin === 'array' ? ['entry', 'entries'] : ['character', 'characters'];
  return `${number} ${number === 1 ? noun[0] : noun[1]}`;
}
