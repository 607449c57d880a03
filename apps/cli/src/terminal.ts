/** What the command line says about the installation to work on. */
export interface Reach {
  readonly context?: string;
  readonly direct: boolean;
  /** The tenant of the command, if the environment or a context says it in place of an option. */
  readonly tenant?: string;
}

/** The input and output of a command. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The result, for the next program in the pipe. */
  out(text: string): void;
  /** Messages for the person at the terminal. */
  say(text: string): void;
  /** Reads standard input to its end. */
  input(): Promise<string>;
  readonly fetch: typeof fetch;
  sleep(milliseconds: number): Promise<void>;
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Says what goes on until it has ended, if it takes long and a person is there to see it. */
  waiting?(what: string | (() => string)): { end(): void };
  /** A message that a run says once, however often it comes to it. */
  sayOnce?(text: string): void;
  /** Known once the command line is read. */
  reach?(): Reach;
}

/** The context of a command. */
export interface CommandContext extends Terminal {
  /** Sets the exit code of a command that succeeds with a code other than 0. */
  exitWith(code: 1 | 3): void;
}

/** A failure that the person can fix: shown as its message, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: 1 | 2 | 3;

  constructor(message: string, exitCode: 1 | 2 | 3 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
