import { ratioOf, ratioTo, type Result, type Row, type Start } from './measure/row.ts';

interface Column {
  readonly title: string;
  readonly value: (row: Row, rows: readonly Row[]) => string;
}

const number = (value: number, digits = 0): string => value.toFixed(digits);

const columns: readonly Column[] = [
  { title: 'operation', value: (row) => row.operation },
  { title: 'on', value: (row) => row.system },
  { title: 'CPU µs', value: (row) => number(row.micros) },
  { title: '×unit', value: (row) => number(ratioOf(row), 2) },
  { title: '×peer', value: (row, rows) => formatRatio(ratioTo('peer', row, rows)) },
  { title: '×bare', value: (row, rows) => formatRatio(ratioTo('bare', row, rows)) },
  { title: 'op/s', value: (row) => number(row.perSecond) },
  { title: 'SQL', value: (row) => number(row.statements, 2) },
  { title: 'Redis', value: (row) => number(row.commands, 2) },
  { title: 'pg µs', value: (row) => number(row.postgres) },
  { title: 'err', value: (row) => number(row.errors) },
];

const formatRatio = (ratio: number | undefined): string => (ratio === undefined ? '-' : number(ratio, 2));

/** Fits eighty-some columns; the unit is one RS256 signature, for a sign-in one argon2id hash. */
export function table({ rows, starts, duration, machine }: Result): string {
  const cells = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map((column) => column.value(row, rows))),
  ];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => (line[index] ?? '').length)));
  const lines = cells.map((line) =>
    line
      .map((cell, index) => (index < 2 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)))
      .join(' '),
  );
  const signatures = rows.map(({ signature }) => signature).toSorted((a, b) => a - b);
  return [
    ...lines,
    '',
    `unit: one RS256 signature, ${number(signatures[0] ?? 0)} to ${number(signatures.at(-1) ?? 0)} µs during the rows; sign-in: one argon2id hash.`,
    `CPU: median of ${duration} loops of a second each.`,
    `${machine.processor}, ${machine.cores} cores, Node ${machine.node}`,
    ...starts.map(describeStart),
    '',
  ].join('\n');
}

function describeStart({ system, startMs, memory }: Start): string {
  const each = Object.entries(memory);
  const total = each.reduce((sum, [, size]) => sum + size, 0);
  const parts =
    each.length > 1 ? ` (${each.map(([name, size]) => `${name} ${number(size)}`).join(', ')})` : '';
  return `${system}: ready after ${number(startMs)} ms, ${number(total)} MiB resident at rest${parts}`;
}
