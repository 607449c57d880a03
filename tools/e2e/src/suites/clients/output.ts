import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { people, secrets } from '../../harness/declared-state.ts';
import { leaks } from '@tessera/test-client';

/** Runs last: reads all that the processes printed while the other suites ran. */
export function outputSuite(system: () => System): void {
  describe('the output of the whole run', () => {
    it('contains none of the codes, tokens, cookies, secrets and passwords that were used', () => {
      const output = system().output();
      expect(system().http.seen.size).toBeGreaterThan(50);
      expect(output.length).toBeGreaterThan(1000);
      expect(leaks(output, system().http.seen)).toEqual([]);
      const chosen = [...Object.values(secrets), ...Object.values(people).map(({ password }) => password)];
      expect(chosen.filter((value) => output.includes(value)).length).toBe(0);
    });

    it('would be noticed if it did', () => {
      const [value = ''] = [...system().http.seen].filter((candidate) => candidate.length >= 40);
      expect(leaks(`before ${value} after`, [value])).toHaveLength(1);
      expect(leaks(`token ending in ${value.slice(-12)}`, [value])).toHaveLength(1);
      expect(leaks(Buffer.from(value).toString('base64'), [value])).toHaveLength(1);
      const userCode = 'WDJB-MJHT';
      for (const written of [userCode, userCode.toLowerCase(), userCode.replace('-', '')])
        expect(leaks(`entered ${written}.`, [userCode])).toHaveLength(1);
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
      expect(errors.map((entry) => entry.message ?? '')).toEqual([]);
    });
  });
}
