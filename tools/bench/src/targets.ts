import { ratioOf, ratioTo, type Result, type Row } from './measure/row.ts';
import type { OperationName } from './operations/index.ts';

/** How a figure of a row is read, and written. */
interface Measure {
  readonly of: (row: Row, rows: readonly Row[]) => number | undefined;
  readonly unit: string;
  readonly digits: number;
}

const signatures: Measure = { of: ratioOf, unit: '× signature', digits: 2 };
const passwordHashes: Measure = { of: ratioOf, unit: '× argon2id', digits: 2 };
const peer: Measure = { of: (row, rows) => ratioTo('peer', row, rows), unit: '× peer', digits: 2 };
const bare: Measure = { of: (row, rows) => ratioTo('bare', row, rows), unit: '× bare', digits: 2 };
// The bare handler hashes as many passwords a second as the cores can.
const hashesPerSecond: Measure = {
  of: (row, rows) => {
    const floor = rows.find(({ system, operation }) => system === 'bare' && operation === row.operation);
    return floor === undefined ? undefined : row.perSecond / floor.perSecond;
  },
  unit: '× hashes/s',
  digits: 2,
};
// Those of the operation itself: in seconds that follow minutes of rest, many a record of the directory is read again.
const statements: Measure = { of: (row) => row.statements - row.rereads, unit: 'SQL', digits: 1 };

/** The cost of a row as a multiple of that of the same token request with a secret. */
const secret: Measure = {
  of: (row, rows) => {
    const other = rows.find(
      ({ system, operation }) => system === row.system && operation === 'client-credentials-form',
    );
    return other && ratioOf(row) / ratioOf(other);
  },
  unit: '× secret',
  digits: 2,
};

/** An operation, where it runs, how its figure is read, and what is aimed at: at most, or at least. */
type Target = readonly [OperationName, 'compact' | 'split', Measure, number, 'at least'?];

const targetsOfOperations: readonly Target[] = [
  ['client-credentials-form', 'compact', signatures, 1.5],
  ['client-credentials-form', 'split', signatures, 2.8],
  ['client-credentials-json', 'compact', signatures, 1.5],
  ['client-credentials-json', 'split', signatures, 2.8],
  ['client-credentials-es256', 'compact', signatures, 0.6],
  ['client-credentials-federated', 'compact', secret, 1.5],
  ['client-credentials-federated', 'compact', statements, 0],
  ['introspect-access', 'compact', bare, 3],
  ['introspect-access', 'compact', peer, 0.55],
  ['introspect-call', 'split', bare, 1.6],
  ['introspect-call-cold', 'split', bare, 2.5],
  ['refresh', 'compact', signatures, 2.2],
  ['refresh', 'compact', statements, 1],
  ['code-exchange', 'compact', signatures, 3.6],
  ['device-poll', 'compact', bare, 5],
  ['discovery', 'compact', bare, 2],
  ['jwks', 'compact', bare, 2],
  ['sign-in', 'compact', passwordHashes, 1.1],
  ['sign-in', 'compact', hashesPerSecond, 0.9, 'at least'],
];

/** What was aimed at, what came out, and whether it is met: rows that were not measured are left out. */
export function targets({ rows, starts }: Result): string {
  const lines = targetsOfOperations.flatMap(([operation, on, measure, aim, atLeast]) => {
    const row = rows.find((one) => one.operation === operation && one.system === on);
    const value = row === undefined ? undefined : measure.of(row, rows);
    if (row === undefined || value === undefined) return [];
    return [
      line(`${operation} ${on}`, value, aim, measure, { atLeast: atLeast !== undefined, errors: row.errors }),
    ];
  });
  const start = starts.find(({ system }) => system === 'compact');
  if (start !== undefined) {
    const memory = Object.values(start.memory).reduce((sum, size) => sum + size, 0);
    lines.push(line('second start compact', start.startMs, 1500, { unit: 'ms', digits: 0 }));
    // 130 MB.
    lines.push(line('memory at rest compact', memory, 124, { unit: 'MiB', digits: 0 }));
  }
  return lines.length === 0 ? '' : ['Against the targets:', ...lines, ''].join('\n');
}

function line(
  label: string,
  value: number,
  aim: number,
  { unit, digits }: Pick<Measure, 'unit' | 'digits'>,
  { atLeast = false, errors = 0 } = {},
): string {
  // As it is written, so that nothing is called missed that reads like met.
  const written = value.toFixed(digits);
  const isMet = atLeast ? Number(written) >= aim : Number(written) <= aim;
  const verdict = errors > 0 ? `${errors} errors` : isMet ? 'met' : 'not met';
  return `${label.padEnd(32)} ${written.padStart(6)} of ${String(aim).padEnd(4)} ${unit.padEnd(11)} ${verdict}`;
}
