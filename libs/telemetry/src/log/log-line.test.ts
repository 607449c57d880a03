import { describe, expect, it } from 'vitest';
import { censorLine } from './log-line.ts';

describe('the wall behind the serializer', () => {
  it('censors whatever stands under a name that holds secrets, however deep', () => {
    const line = JSON.stringify({
      message: 'x',
      token: 'canary-1',
      a: { b: [{ clientSecret: { inner: 'canary-2' } }], password: 3_141_592 },
    });
    const censored = censorLine(`${line}\n`);
    expect(censored).not.toMatch(/canary|3141592/);
    expect(JSON.parse(censored)).toEqual({
      message: 'x',
      token: '[redacted]',
      a: { b: [{ clientSecret: '[redacted]' }], password: '[redacted]' },
    });
    expect(censored.endsWith('\n')).toBe(true);
  });

  it('leaves a line alone that has nothing to censor, texts that speak of such names included', () => {
    const line = `${JSON.stringify({ message: 'the "token":"x" of "password": 1', token: '[redacted]', cookie: null })}\n`;
    expect(censorLine(line)).toBe(line);
  });

  it('prints nothing of a line that it cannot read', () => {
    expect(censorLine('{"password":"canary')).not.toContain('canary');
  });
});
