import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { Format } from './options.ts';

/** Records for the next program or for people. One record is printed alone, several as a list. */
export async function printed(
  records: JsonObject | readonly JsonObject[],
  format: Format,
  columns: readonly string[],
): Promise<string> {
  if (format === 'json') return `${JSON.stringify(records, null, 2)}\n`;
  if (format === 'yaml') {
    const { stringify } = await import('yaml');
    return stringify(records);
  }
  return table([records].flat(), columns);
}

function table(records: readonly JsonObject[], columns: readonly string[]): string {
  const rows = [columns.map(heading), ...records.map((record) => columns.map((name) => cell(record[name])))];
  const widths = columns.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return lines.map((line) => `${line}\n`).join('');
}

/** `clientId` is `CLIENT ID`. */
function heading(name: string): string {
  return name.replaceAll(/(?=[A-Z])/g, ' ').toUpperCase();
}

/**
 * Of an object its name, of a list its items. Names may have any characters: none of them starts a line or acts on the
 * terminal.
 */
function cell(value: JsonValue | undefined): string {
  if (value === undefined || value === null || value === '') return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(cell).join(', ');
  if (typeof value === 'object') return cell(value['name']);
  return String(value).replaceAll(/\p{C}/gu, '\ufffd');
}
