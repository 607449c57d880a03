import { textTable } from '@tessera/test-client';
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
export const table = (reports: readonly Report[]): string =>
  textTable([
    columns.map(([title]) => title),
    ...reports.map((report) => columns.map(([, of]) => of(report))),
  ]);
