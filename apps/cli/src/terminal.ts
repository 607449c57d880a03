/** What a command may use of the world around it. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The result, for the next program in the pipe. */
  out(text: string): void;
  /** What the person at the terminal reads. */
  say(text: string): void;
  readonly fetch: typeof fetch;
  sleep(milliseconds: number): Promise<void>;
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** A failure that the person can do something about: shown as its message, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** A command line that cannot be understood. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
