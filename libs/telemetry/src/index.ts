/**
 * Log, metrics and traces, and the allow-lists that keep secrets out of them. It decides nothing.
 */
export { errorMessage, sqlState } from './log/errors.ts';
export { firstCharacters, withoutTokens } from './log/texts.ts';
export { createLogger } from './log/log.ts';
export type { Logger, LoggerOptions, LogLevel } from './log/log.ts';
export { expectRefusals, measureMethod } from './metrics/calls.ts';
export { metrics } from './metrics/index.ts';
export { measureProcess } from './metrics/process.ts';
export { parseHeaders } from './traces/headers.ts';
export { Span } from './traces/span.ts';
export type { EndedSpan } from './traces/span.ts';
export { formatTraceparent, parseTraceparent, traceparentKey } from './traces/trace-context.ts';
export type { TraceContext } from './traces/trace-context.ts';
export {
  activateTracer,
  activeTracer,
  annotate,
  openTracer,
  traceFields,
  traceFieldsOf,
  traced,
} from './traces/tracing.ts';
export type { Tracer } from './traces/tracing.ts';
