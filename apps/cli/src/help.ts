import type { Command, Option } from './command.ts';

export function overview(commands: readonly Command[]): string {
  const rows = commands.map(({ words, summary }): [string, string] => [
    `tessera ${words.join(' ')}`,
    summary,
  ]);
  return `${columns(rows)}\n\nEach takes --help.\n`;
}

export function commandHelp({ words, summary, details, options }: Command): string {
  const rows = Object.entries(options).map(([name, option]): [string, string] => [
    `--${name}${option.type === 'string' ? ' <value>' : ''}`,
    describe(option),
  ]);
  const parts = [
    `tessera ${words.join(' ')}: ${summary}`,
    details,
    rows.length > 0 ? columns(rows) : undefined,
  ];
  return `${parts.filter((part) => part !== undefined).join('\n\n')}\n`;
}

function describe(option: Option): string {
  const notes = [
    ...(option.required === true ? ['required'] : []),
    ...(option.environment === undefined ? [] : [`or ${option.environment}, ${option.environment}_FILE`]),
    ...(option.default === undefined ? [] : [`default: ${option.default}`]),
  ];
  return notes.length === 0 ? option.help : `${option.help} (${notes.join('; ')})`;
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join('\n');
}
