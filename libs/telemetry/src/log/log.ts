import { pino } from 'pino';
import type { Bindings, ChildLoggerOptions, DestinationStream, LevelWithSilent, Logger } from 'pino';
import { errorMessage } from './serialize-error.ts';
import { serializeRecord } from './serializer.ts';
import { cleanText, redacted } from './texts.ts';

export type { Logger };

declare module 'pino' {
  /** The error of a line has one name, `err`. */
  interface LogFnFields {
    readonly error?: never;
  }
}

export interface LoggerOptions {
  /** The process, for example `token`. */
  readonly service: string;
  readonly level: LevelWithSilent;
  /** Rewrites a finished line, which is JSON: `formatForPeople` of `@tessera/telemetry/for-people`. */
  readonly format?: ((line: string) => string) | undefined;
  /** Returns the fields that every line gets; called for each line. */
  readonly mixin?: (() => object) | undefined;
}

const errorKey = 'err';
const warn = 40;

/** Fields that never have a value in a line: a second barrier behind the serializer, in pino itself. */
const redactedNames = [
  'password',
  'clientSecret',
  'accessToken',
  'refreshToken',
  'idToken',
  'token',
  'authorization',
  'cookie',
  'codeVerifier',
  'deviceCode',
  'userCode',
];

/**
 * One line per event, in JSON, with `requestId` where a line belongs to a request (`log.child({ requestId })`).
 * The serializer decides what reaches a line, by an allow-list of kinds of values and a deny-list of names.
 * @param destination standard output unless it is given
 */
export function createLogger(options: LoggerOptions, destination?: DestinationStream): Logger {
  const output = destination ?? standardOutput();
  const isStandardOutput = destination === undefined;
  const logger = pino(
    {
      level: options.level,
      base: { service: options.service },
      ...(options.mixin === undefined ? {} : { mixin: options.mixin }),
      timestamp: pino.stdTimeFunctions.isoTime,
      messageKey: 'message',
      errorKey,
      redact: { paths: redactedNames, censor: redacted },
      // `formatters.log` has reduced errors already; pino's default serializer prints every property.
      serializers: { err: (value: unknown) => value },
      formatters: { level: (label) => ({ level: label }), log: serializeRecord },
      hooks: {
        logMethod(args, method, level) {
          method.apply(this, cleanArguments(args) as typeof args);
          if (isStandardOutput && level >= warn) this.flush();
        },
        ...(options.format === undefined ? {} : { streamWrite: options.format }),
      },
    },
    output,
  );
  return withCleanBindings(logger);
}

let shared: DestinationStream | undefined;

/** How long lines are gathered. */
const gatheringMs = 50;

/**
 * Standard output, opened once per process however many loggers there are. Lines are gathered for a moment, because a
 * write costs more than a line; warnings and errors are written at once, and nothing is lost when the process exits.
 */
function standardOutput(): DestinationStream {
  if (shared !== undefined) return shared;
  const output = pino.destination({ dest: 1, sync: true, minLength: 8192 });
  process.once('exit', () => output.flush());
  let gathering: NodeJS.Timeout | undefined;
  const write = (line: string): void => {
    output.write(line);
    // Not `periodicFlush`, which wakes a process that has nothing to write.
    gathering ??= setTimeout(() => {
      gathering = undefined;
      output.flush();
    }, gatheringMs).unref();
  };
  const flush = (done?: (error?: Error) => void): void => output.flush(done);
  return (shared = Object.assign({ write }, { flush }));
}

/** pino formats only the bindings of the first logger; those of its children are serialized here. */
function withCleanBindings(logger: Logger): Logger {
  const child = logger.child as unknown as (
    this: Logger,
    bindings: Bindings,
    options?: ChildLoggerOptions,
  ) => Logger;
  const { setBindings } = logger;
  return Object.assign(logger, {
    child(this: Logger, bindings: Bindings, options?: ChildLoggerOptions): Logger {
      return child.call(this, serializeRecord(bindings), options);
    },
    setBindings(this: Logger, bindings: Bindings): void {
      setBindings.call(this, serializeRecord(bindings));
    },
  });
}

/** The formatter does not see messages: they are cleaned here, and an error that is logged alone gives its message. */
function cleanArguments(args: readonly unknown[]): unknown[] {
  const [first, second] = args;
  const record: unknown = first instanceof Error ? { [errorKey]: first } : first;
  if (second === undefined && typeof record === 'object' && record !== null && errorKey in record) {
    const error = record[errorKey];
    return [record, error instanceof Error ? errorMessage(error) : ''];
  }
  return [record, ...args.slice(1)].map((argument, index) => cleanArgument(argument, index === 0));
}

function cleanArgument(argument: unknown, isRecord: boolean): unknown {
  if (typeof argument === 'string') return cleanText(argument);
  if (isRecord || typeof argument !== 'object' || argument === null) return argument;
  return serializeRecord({ argument })['argument'];
}
