/** A mistake in the declared state: where, and one sentence without the value. */
export interface Problem {
  readonly fileName: string;
  readonly line: number;
  readonly column: number;
  /** For example `tenants[0].users[1].email`; empty for the document as a whole. */
  readonly key: string;
  readonly message: string;
}

/** The declared state cannot be used. The message lists every problem, one line each, and no value of the file. */
export class DeclaredStateError extends Error {
  override readonly name = 'DeclaredStateError';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(describe).join('\n'));
    this.problems = problems;
  }
}

function describe({ fileName, line, column, key, message }: Problem): string {
  return `${fileName}:${line}:${column}: ${key === '' ? '' : `${key}: `}${message}`;
}
