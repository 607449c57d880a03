import { describe, expect, it } from 'vitest';
import { createLogger } from './log.ts';
import { plainLine } from './log-plain.ts';

const canary = 'CANARY0123456789abcdef';
const names = ['requestId', 'route', 'status', 'ms'] as const;
type Values = [string, string, number, number];

function captured(format: 'json' | 'text' = 'json') {
  const written: string[] = [];
  const root = createLogger(
    { service: 'test', level: 'info', format },
    { write: (line: string) => void written.push(line) },
  );
  const log = root.child({ component: 'gateway' });
  const ordinary = (values: Values) =>
    log.info(Object.fromEntries(names.map((name, index) => [name, values[index]])), 'request');
  return { log, written, ordinary, plain: plainLine(log, 'request', names) };
}

const withoutTime = (line: string | undefined) => line?.replace(/"time":"[^"]*"/, '');

describe('a plain line', () => {
  it.each<[string, Values]>([
    ['plain words', ['01JABCDEF', '/token', 200, 1.5]],
    ['a route with parameters', ['a.b-c_d', '/device/:code/*', 404, 0]],
    ['nothing', ['', '(none)', 0, 0]],
    ['a quote', ['a"b', '/token', 200, 1]],
    ['a backslash and a line break', ['a\\b\nc', '/token', 200, 1]],
    ['letters of other scripts', ['\u00e9\u202e', '/token', 200, 1]],
    ['an opaque token', [`tr_${canary}`, '/token', 200, 1]],
    ['a JWT', [`eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.${canary}`, '/token', 200, 1]],
    ['an address with a password', [`redis://me:${canary}@there/`, '/token', 200, 1]],
    ['a number that is none', ['a', '/token', Number.NaN, Number.POSITIVE_INFINITY]],
    ['a long text', ['a'.repeat(5000), '/token', 200, 1]],
  ])('says what the ordinary way would say of %s', (_what, values) => {
    const { written, ordinary, plain } = captured();
    ordinary(values);
    plain(...values);
    expect(withoutTime(written[1])).toBe(withoutTime(written[0]));
    expect(JSON.parse(written[1] ?? '')).toMatchObject({ level: 'info', component: 'gateway' });
    expect(written.join('')).not.toContain(canary);
  });

  it('has the time of now, like every other line', () => {
    const { written, plain } = captured();
    const before = Date.now();
    plain('a', '/token', 200, 1);
    const { time } = JSON.parse(written[0] ?? '') as { time: string };
    expect(new Date(time).toISOString()).toBe(time);
    expect(Date.parse(time)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(time)).toBeLessThanOrEqual(Date.now());
  });

  it('is written as text where the log is text', () => {
    const { written, ordinary, plain } = captured('text');
    ordinary(['a', '/token', 200, 1]);
    plain('a', '/token', 200, 1);
    expect(written[1]).not.toMatch(/^\{/);
    expect(written[1]?.replace(/[\d:.]+/, '')).toBe(written[0]?.replace(/[\d:.]+/, ''));
  });

  it('is left out where the level is higher', () => {
    const { log, written, plain } = captured();
    log.level = 'warn';
    plain('a', '/token', 200, 1);
    expect(written).toEqual([]);
  });
});
