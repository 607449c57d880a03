/** What a command may use of the world around it. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The result, for the next program in the pipe. */
  out(text: string): void;
  /** What the person at the terminal reads. */
  say(text: string): void;
  /** Reads standard input to its end. */
  input(): Promise<string>;
  readonly fetch: typeof fetch;
  sleep(milliseconds: number): Promise<void>;
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** What a command is given. */
export interface CommandContext extends Terminal {
  /** Sets the exit code of a command that succeeds with a result of its own. */
  exitWith(code: 1): void;
}

/** A failure that the person can do something about: shown as its message, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
