import { ratioOf, ratioTo, type Result, type Row } from './measure/row.ts';
import type { OperationName } from './operations/names.ts';

/** How a figure of a row is read, and written. */
interface Measure {
  readonly of: (row: Row, rows: readonly Row[]) => number | undefined;
  readonly unit: string;
  readonly digits: number;
}

const signatures: Measure = { of: ratioOf, unit: '× signature', digits: 2 };
const passwordHashes: Measure = { of: ratioOf, unit: '× argon2id', digits: 2 };
const peer: Measure = { of: (row, rows) => ratioTo('oidc-provider', row, rows), unit: '× peer', digits: 2 };
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

interface Target {
  readonly operation: OperationName;
  readonly on: 'compact' | 'split';
  readonly measure: Measure;
  /** The figure that is aimed at. */
  readonly aim: number;
  /** Whether it is the least instead of the most. */
  readonly atLeast?: true;
}

const operationTargets: readonly Target[] = [
  ...(['client-credentials-form', 'client-credentials-json'] as const).flatMap((operation): Target[] => [
    { operation, on: 'compact', measure: signatures, aim: 1.5 },
    { operation, on: 'split', measure: signatures, aim: 2.8 },
  ]),
  { operation: 'client-credentials-es256', on: 'compact', measure: signatures, aim: 0.6 },
  { operation: 'introspect-access', on: 'compact', measure: bare, aim: 2.5 },
  { operation: 'introspect-access', on: 'compact', measure: peer, aim: 0.45 },
  { operation: 'introspect-call', on: 'split', measure: bare, aim: 1.5 },
  { operation: 'introspect-call-cold', on: 'split', measure: bare, aim: 2.5 },
  { operation: 'refresh', on: 'compact', measure: signatures, aim: 2.2 },
  { operation: 'refresh', on: 'compact', measure: statements, aim: 1 },
  { operation: 'code-exchange', on: 'compact', measure: signatures, aim: 3.6 },
  { operation: 'device-poll', on: 'compact', measure: bare, aim: 5 },
  { operation: 'discovery', on: 'compact', measure: bare, aim: 2 },
  { operation: 'jwks', on: 'compact', measure: bare, aim: 2 },
  { operation: 'sign-in', on: 'compact', measure: passwordHashes, aim: 1.1 },
  { operation: 'sign-in', on: 'compact', measure: hashesPerSecond, aim: 0.9, atLeast: true },
];

/** Of the start, for compact: milliseconds, and MiB (130 MB are 124). */
const startTargets = { startMs: 1500, memory: 124 };

/** What was aimed at, what came out, and whether it is met: rows that were not measured are left out. */
export function targets({ rows, starts }: Result): string {
  const lines = operationTargets.flatMap(({ atLeast = false, ...target }) => {
    const { operation, on, measure } = target;
    const row = rows.find((one) => one.operation === operation && one.system === on);
    const value = row === undefined ? undefined : measure.of(row, rows);
    if (row === undefined || value === undefined) return [];
    return [line(`${operation} ${on}`, value, { ...target, atLeast }, row.errors)];
  });
  const start = starts.find(({ system }) => system === 'compact');
  if (start !== undefined) {
    const memory = Object.values(start.memory).reduce((sum, size) => sum + size, 0);
    const ofStart = (label: string, value: number, aim: number, unit: string): string =>
      line(label, value, { aim, atLeast: false, measure: { unit, digits: 0 } });
    lines.push(ofStart('second start compact', start.startMs, startTargets.startMs, 'ms'));
    lines.push(ofStart('memory at rest compact', memory, startTargets.memory, 'MiB'));
  }
  return lines.length === 0 ? '' : ['Against the targets:', ...lines, ''].join('\n');
}

function line(
  label: string,
  value: number,
  {
    aim,
    atLeast,
    measure: { unit, digits },
  }: {
    readonly aim: number;
    readonly atLeast: boolean;
    readonly measure: Pick<Measure, 'unit' | 'digits'>;
  },
  errors = 0,
): string {
  // As it is written, so that nothing is called missed that reads like met.
  const written = value.toFixed(digits);
  const isMet = atLeast ? Number(written) >= aim : Number(written) <= aim;
  const verdict = errors > 0 ? `${errors} errors` : isMet ? 'met' : 'not met';
  return `${label.padEnd(32)} ${written.padStart(6)} of ${String(aim).padEnd(4)} ${unit.padEnd(11)} ${verdict}`;
}
