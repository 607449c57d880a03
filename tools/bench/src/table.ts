import { textTable } from '@tessera/test-client';
import { ratioOf, ratioTo, type Result, type Row, type Start } from './measure/row.ts';

type Column = readonly [title: string, value: (row: Row, rows: readonly Row[]) => string];

const ratio = (value: number | undefined): string => value?.toFixed(2) ?? '-';

const columns: readonly Column[] = [
  ['operation', (row) => row.operation],
  ['on', (row) => row.system],
  ['CPU µs', (row) => row.micros.toFixed()],
  ['×unit', (row) => ratio(ratioOf(row))],
  ['×peer', (row, rows) => ratio(ratioTo('peer', row, rows))],
  ['×bare', (row, rows) => ratio(ratioTo('bare', row, rows))],
  ['op/s', (row) => row.perSecond.toFixed()],
  ['SQL', (row) => row.statements.toFixed(2)],
  ['Redis', (row) => row.commands.toFixed(2)],
  ['pg µs', (row) => row.postgres.toFixed()],
  ['err', (row) => row.errors.toFixed()],
];

/** Fits eighty-some columns; the unit is one RS256 signature, for a sign-in one argon2id hash. */
export function table({ rows, starts, duration, machine }: Result): string {
  const cells = [
    columns.map(([title]) => title),
    ...rows.map((row) => columns.map(([, value]) => value(row, rows))),
  ];
  const signatures = rows.filter(({ operation }) => operation !== 'sign-in').map(({ unit }) => unit);
  const range = [Math.min(...signatures), Math.max(...signatures)].map((micros) => micros.toFixed());
  return [
    textTable(cells, (column) => column > 1),
    `unit: one RS256 signature, ${range.join(' to ')} µs during the rows; sign-in: one argon2id hash.`,
    `CPU: median of ${duration} loops of a second each.`,
    `${machine.processor}, ${machine.cores} cores, Node ${machine.node}`,
    ...starts.map(describeStart),
    '',
  ].join('\n');
}

function describeStart({ system, startMs, memory }: Start): string {
  const each = Object.entries(memory);
  const total = each.reduce((sum, [, size]) => sum + size, 0);
  const parts = each.map(([name, size]) => `${name} ${size.toFixed()}`).join(', ');
  return `${system}: ready after ${startMs.toFixed()} ms, ${total.toFixed()} MiB resident at rest (${parts})`;
}
