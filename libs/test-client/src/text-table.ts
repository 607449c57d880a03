/** Rows of cells as a table for a terminal, a line each. @param numbers the columns that are written to the right */
export function textTable(
  rows: readonly (readonly string[])[],
  numbers: (column: number) => boolean = () => false,
): string {
  const widths = (rows[0] ?? []).map((_title, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const pad = (cell: string, at: number): string =>
    numbers(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0);
  return rows.map((row) => `${row.map(pad).join('  ').trimEnd()}\n`).join('');
}
