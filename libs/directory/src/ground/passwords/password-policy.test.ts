import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { passwordProblem } from './password-policy.ts';

describe('the passwords that people may have (NIST SP 800-63B §5.1.1.2)', () => {
  it.each(['', 'x', 'seven77', 'åäöåäöå', '👍👍👍👍👍👍👍'])('must have eight characters: %j', (password) => {
    expect(passwordProblem(password, 8)).toBe('must have at least 8 characters');
  });

  it.each(['password', 'PassWord', '12345678', 'iloveyou', 'qwertyuiop', 'baseball'])(
    'must not be as common as %s',
    (password) => {
      expect(passwordProblem(password, 8)).toMatch(/one of the most common passwords/);
    },
  );

  it.each([
    'correct horse battery staple',
    'analytical-engine-1843',
    'åäöåäöåä',
    '👍👍👍👍👍👍👍👍',
    'x1:;9_Qv',
  ])('may be %j', (password) => {
    expect(passwordProblem(password, 8)).toBeUndefined();
  });

  it('have the minimum length of the deployment', () => {
    expect(passwordProblem('analytical', 12)).toBe('must have at least 12 characters');
    expect(passwordProblem('x', 1)).toBeUndefined();
  });

  it('are compared with 10,000 lower-case ones of eight characters or more', () => {
    const text = readFileSync(new URL('./common-passwords.txt', import.meta.url), 'utf8');
    const lines = text.trimEnd().split('\n');
    expect(new Set(lines).size).toBe(10_000);
    for (const line of lines) expect(line).toMatch(/^[\x21-\x40\x5b-\x7e]{8,}$/);
  });
});
