import type { Report } from './scenarios/scenario.ts';

const columns: readonly (readonly [string, (report: Report) => string])[] = [
  ['scenario', ({ scenario }) => scenario],
  ['operations', ({ operations }) => String(operations)],
  ['sent again', ({ retries }) => String(retries)],
  ['lost for good', ({ losses }) => String(losses)],
  ['violations', ({ violations }) => String(violations.length)],
  ['longest outage', ({ outage: { kind, ms } }) => `${(ms / 1000).toFixed(1)} s ${kind}`],
  ['took', ({ seconds }) => `${seconds} s`],
];

/** The reports as a table for a terminal. */
export function table(reports: readonly Report[]): string {
  const rows = [
    columns.map(([title]) => title),
    ...reports.map((report) => columns.map(([, of]) => of(report))),
  ];
  const widths = columns.map((_column, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, at) => cell.padEnd(widths[at] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
