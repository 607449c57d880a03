/** A violation that a canary plants. */
export interface Plant {
  /** Target in project.json; `test` is the guard against skipped tests. */
  readonly guard: string;
  readonly path: string;
  /** What the guard says, in the line that names the file. */
  readonly expect: RegExp;
  /** A file of its own, or a change to one that exists. */
  readonly text?: string;
  readonly edit?: (before: string) => string;
}

export function lint(path: string, text: string, expect: RegExp): Plant {
  return { guard: 'lint', path, text: `${text}\n`, expect };
}

export function imports(path: string, from: string, name = 'canary'): Plant {
  return lint(path, `export { ${name} } from '${from}';`, /no-restricted-imports/);
}

export function reaches(path: string, expression: string): Plant {
  return lint(path, `export const f = () => ${expression};`, /no-restricted-properties/);
}

export function normalizes(path: string): Plant {
  return lint(path, "export const f = (text: string) => text.normalize('NFC');", /no-restricted-properties/);
}

export function declared(path: string, text: string, expect: RegExp): Plant {
  return { guard: 'packages', path, text, expect };
}

export function clean(path: string, text: string, expect: RegExp): Plant {
  return { guard: 'hygiene', path, text, expect };
}

export function drawn(path: string, what: string | RegExp, instead: string, expect: RegExp): Plant {
  return { guard: 'drawings', path, edit: (before) => before.replace(what, instead), expect };
}

export function floor(path: string, text: string, expect: RegExp): Plant {
  return { guard: 'folders', path, text: `${text}\nexport const canary = 1;\n`, expect };
}

export function expires(path: string, comment: string, expect: RegExp): Plant {
  return { guard: 'compatibility', path, text: `${comment}\nexport const canary = 1;\n`, expect };
}

export function tests(name: string, text: string, expect: RegExp): Plant {
  return {
    guard: 'test',
    path: `libs/canary/src/${name}.test.ts`,
    text: `import { test } from 'vitest';\n${text}\n`,
    expect,
  };
}
