import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { System } from '../harness/set-up.ts';
import { people, secrets } from '../harness/declared-state.ts';

/** Which of the values stand in the text: as they are, in base64, URL-encoded, or a 12-character piece of a long one. */
export function leaks(text: string, values: Iterable<string>): string[] {
  const found: string[] = [];
  for (const value of values) {
    const pieces = value.length >= 40 ? [value.slice(-12), value.slice(20, 32)] : [];
    const forms = [value, Buffer.from(value).toString('base64'), encodeURIComponent(value), ...pieces];
    if (forms.some((form) => text.includes(form))) {
      found.push(createHash('sha256').update(value).digest('hex').slice(0, 8));
    }
  }
  return found;
}

/** Runs last: reads all that the processes printed while the other suites ran. */
export function outputSuite(system: () => System): void {
  describe('the output of the whole run', () => {
    it('contains none of the codes, tokens, cookies, secrets and passwords that were used', () => {
      const passwords = Object.values(people).map((person) => person.password);
      const values = [...system().http.seen, ...Object.values(secrets), ...passwords];
      expect(values.length).toBeGreaterThan(50);
      expect(system().output().length).toBeGreaterThan(1000);
      expect(leaks(system().output(), values)).toEqual([]);
    });

    it('would be noticed if it did', () => {
      const [value = ''] = [...system().http.seen].filter((candidate) => candidate.length >= 40);
      expect(leaks(`${system().output()} ${value}`, [value])).toHaveLength(1);
      expect(leaks(`token ending in ${value.slice(-12)}`, [value])).toHaveLength(1);
      expect(leaks(Buffer.from(value).toString('base64'), [value])).toHaveLength(1);
    });

    it('has no error, and one well-formed line for each event', () => {
      const lines = system()
        .output()
        .split('\n')
        .filter((line) => line.startsWith('{'));
      const entries = lines.map((line) => JSON.parse(line) as { level?: number | string; message?: string });
      expect(entries.length).toBeGreaterThan(10);
      const errors = entries.filter(
        (entry) =>
          entry.level === 'error' || entry.level === 50 || entry.level === 'fatal' || entry.level === 60,
      );
      expect(errors.map((entry) => entry.message ?? "")).toEqual([]);
    });
  });
}
