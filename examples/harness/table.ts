import { apis, types, type Api, type Type } from './variants.ts';

export interface Outcome {
  readonly name: string;
  readonly type: Type;
  readonly api: Api;
  readonly result: 'ran' | 'refused' | 'not run' | 'FAILED';
  /** What it did, or why not. */
  readonly detail: string;
}

const headings: Readonly<Record<Api, string>> = {
  none: 'no API',
  orders: '--resource orders',
  billing: '--resource billing',
  two: 'two APIs, no choice',
};

/**
 * Outcomes as a table for people: a line for each example and type of application, and the details below it, numbered.
 */
export function tableOf(outcomes: readonly Outcome[]): string {
  const details = [...new Set(outcomes.map(({ detail }) => detail))];
  const rows = [['configuration', 'application', ...apis.map((api) => headings[api])]];
  for (const name of new Set(outcomes.map((outcome) => outcome.name))) {
    for (const type of types) {
      const cells = apis.map((api) => {
        const found = outcomes.find((each) => each.name === name && each.type === type && each.api === api);
        return found === undefined ? '' : `${found.result} (${details.indexOf(found.detail) + 1})`;
      });
      rows.push([name, type, ...cells]);
    }
  }
  const widths = rows[0]?.map((_cell, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths?.[column] ?? 0)).join('  '));
  return [...lines, '', ...details.map((detail, index) => `(${index + 1}) ${detail}`), ''].join('\n');
}
