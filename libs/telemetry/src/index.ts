/**
 * Log, metrics and traces, and the allow-lists that keep secrets out of them. It decides nothing.
 *
 *     log ─> serializer, texts (what may be said) ─> pino ──> standard output
 *     counter, histogram, gauge ─> metrics/ ──> /metrics; without it nothing is loaded, and nothing counted
 *     runInSpan ─> traces/tracing ─> allow-list ─> reporting ──> collector; nothing is loaded while traces are off
 */
export { logConsole } from './log/console.ts';
export { errorMessage, errorReason, sqlState } from './log/serialize-error.ts';
export { limitRepeats } from './log/repeats.ts';
export type { RepeatedWarnings } from './log/repeats.ts';
export { firstCharacters, readsAsSecret, withoutTokens } from './log/texts.ts';
export { createLogger, type Logger, type LoggerOptions } from './log/log.ts';
export { expectRefusals, measureMethod, methodName } from './metrics/call-metrics.ts';
export { metrics } from './metrics/metrics.ts';
export { measureProcess } from './metrics/node-metrics.ts';
export {
  annotate,
  currentTraceparent,
  isTracing,
  markFault,
  readTraceparent,
  runInSpan,
  startRootSpan,
  traced,
  tracedRoot,
  traceFields,
  traceFieldsOf,
  traceparentKey,
} from './traces/tracing.ts';
export type { Span, SpanContext, SpanOptions } from './traces/tracing.ts';
