import { ratioOf, type Result } from './measure/row.ts';

/** Compares with an earlier result by the ratios to the physical work, because machines and hours differ. */
export function comparison(now: Result, before: Result): string {
  const lines = now.rows.map((row) => {
    const earlier = before.rows.find(
      ({ operation, system }) => operation === row.operation && system === row.system,
    );
    const label = `${row.operation} ${row.system}`.padEnd(38);
    if (earlier === undefined) return `${label} new`;
    const [was, is] = [ratioOf(earlier), ratioOf(row)];
    const change = (is / was - 1) * 100;
    const sign = change > 0 ? '+' : '';
    return `${label} ${was.toFixed(2).padStart(6)} -> ${is.toFixed(2).padStart(6)}  ${sign}${change.toFixed(0)} %`;
  });
  return [`Compared with ${before.at}, in units of the physical work:`, ...lines, ''].join('\n');
}
