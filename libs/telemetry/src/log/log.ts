import { pino } from 'pino';
import type { Bindings, ChildLoggerOptions, DestinationStream, Logger } from 'pino';
import { isoTime, systemClock } from '@tessera/kit';
import { standardOutput } from './log-destination.ts';
import { errorMessage } from './log-error.ts';
import { censorLine } from './log-line.ts';
import { textLine } from './log-line-text.ts';
import { writesJson } from './log-plain.ts';
import { serializeRecord } from './log-serializer.ts';
import { cleanText } from './log-text.ts';

export type { Logger };

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

export interface LoggerOptions {
  /** The process, for example `token`. */
  readonly service: string;
  readonly level: LogLevel;
  /** `json` by default; `text` is for people at a terminal. */
  readonly format?: 'json' | 'text';
  /** Asked at each line for what else it says. */
  readonly mixin?: (() => object) | undefined;
}

const errorKey = 'error';

/**
 * One line per event, in JSON, with `requestId` where a line belongs to a request (`log.child({ requestId })`).
 * The serializer decides by an allow-list of kinds of values and a deny-list of names what reaches a line.
 */
export function createLogger(options: LoggerOptions, destination?: DestinationStream): Logger {
  const logger = pino(
    {
      level: options.level,
      base: { service: options.service },
      ...(options.mixin === undefined ? {} : { mixin: options.mixin }),
      timestamp: () => `,"time":"${isoTime(systemClock.now())}"`,
      messageKey: 'message',
      errorKey,
      // Errors are reduced by the formatter; what pino would do by default prints every property.
      serializers: { error: (value: unknown) => value, err: (value: unknown) => value },
      formatters: {
        level: (label) => ({ level: label }),
        log: serializeRecord,
      },
      hooks: {
        logMethod(args, method) {
          method.apply(this, cleanArguments(args) as typeof args);
        },
        streamWrite: options.format === 'text' ? (line) => textLine(censorLine(line)) : censorLine,
      },
    },
    destination ?? standardOutput(),
  );
  if (options.format !== 'text') Object.assign(logger, { [writesJson]: true });
  return withCleanBindings(logger);
}

/** pino formats the bindings of the first logger only; those of its children go through the same serializer here. */
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

/** Messages pass by the formatter: they are cleaned here, and a message taken from an error is made by our rules. */
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
