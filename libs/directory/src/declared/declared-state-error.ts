/** What is wrong with the declared state: where, and one sentence without the value. */
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

/**
 * The declared state keeps its own rules, but cannot be applied beside records of others: it may be right, and they
 * make and delete theirs at any time. The message is like that of DeclaredStateError.
 */
export class DeclaredConflictError extends Error {
  override readonly name = 'DeclaredConflictError';

  constructor(conflicts: readonly Problem[]) {
    super(conflicts.map(describe).join('\n'));
  }
}

export interface ToldApart {
  /** Problems of the declared state alone. */
  readonly mistakes: readonly Problem[];
  /** Problems that it has only because of records of others. */
  readonly conflicts: readonly Problem[];
}

/** @param alone finds the problems that are left without the records of others */
export function tellApart(problems: readonly Problem[], alone: () => readonly Problem[]): ToldApart {
  if (problems.length === 0) return { mistakes: [], conflicts: [] };
  const own = new Set(alone().map(describe));
  const isMistake = (problem: Problem): boolean => own.has(describe(problem));
  return {
    mistakes: problems.filter(isMistake),
    conflicts: problems.filter((problem) => !isMistake(problem)),
  };
}

/** Throws DeclaredStateError with the mistakes and then the conflicts, or DeclaredConflictError without mistakes. */
export function refuseProblems({ mistakes, conflicts }: ToldApart): void {
  if (mistakes.length > 0) throw new DeclaredStateError([...mistakes, ...conflicts]);
  if (conflicts.length > 0) throw new DeclaredConflictError(conflicts);
}

function describe({ fileName, line, column, key, message }: Problem): string {
  return `${fileName}:${line}:${column}: ${key === '' ? '' : `${key}: `}${message}`;
}
