import { describe, expect, it } from 'vitest';
import { formatTraceparent, parseTraceparent } from './trace-context.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

describe('a traceparent', () => {
  it('is read and written (W3C Trace Context §3.2)', () => {
    const context = { traceId, spanId, sampled: true };
    expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).toEqual(context);
    expect(formatTraceparent(context)).toBe(`00-${traceId}-${spanId}-01`);
    expect(formatTraceparent({ ...context, sampled: false })).toBe(`00-${traceId}-${spanId}-00`);
  });

  it.each([
    ['00', false],
    ['01', true],
    ['02', false],
    ['ff', true],
  ])('with the flags %s is sampled: %s (§3.2.2.5.1)', (flags, sampled) => {
    expect(parseTraceparent(`00-${traceId}-${spanId}-${flags}`)?.sampled).toBe(sampled);
  });

  it('of a version to come may be longer (§4.3)', () => {
    expect(parseTraceparent(`01-${traceId}-${spanId}-01-more`)).toMatchObject({ traceId, spanId });
  });

  it.each([
    ['of no known form', 'x'],
    ['of version 00 that is longer', `00-${traceId}-${spanId}-01-more`],
    ['of the forbidden version', `ff-${traceId}-${spanId}-01`],
    ['without a trace', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['without a parent', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['in upper case', `00-${traceId.toUpperCase()}-${spanId}-01`],
    ['that is too short', `00-${traceId.slice(1)}-${spanId}-01`],
    ['with a line break', `00-${traceId}-${spanId}-01\n`],
    ['without an end', `01-${traceId}-${spanId}-01-${'x'.repeat(10_000)}`],
    ['that is absent', undefined],
    ['that came twice', [`00-${traceId}-${spanId}-01`]],
  ])('%s is none', (_what, value) => {
    expect(parseTraceparent(value)).toBeUndefined();
  });
});
