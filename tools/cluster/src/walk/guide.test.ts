import { expect, test } from 'vitest';
import { readGuide } from './guide.ts';

const trial = readGuide('try-on-a-cluster.md');
const guide = readGuide('first-half-hour.md');

test('A step of a guide is what is typed there, line by line', () => {
  expect(guide.step(1)).toEqual([
    expect.stringMatching(/^helm upgrade .* --set administration.enabled=true,.* --wait$/),
    'kubectl -n tessera port-forward service/tessera-administration 9002',
    'kubectl -n tessera port-forward service/tessera-standalone 8080:80',
  ]);
  expect(() => guide.step(9)).toThrow('docs/first-half-hour.md has no step 9 with commands');
  expect(() => guide.yaml).toThrow('docs/first-half-hour.md has no YAML');
});

test('The first half hour is typed in under ten minutes, at 200 characters a minute', () => {
  const steps = Array.from({ length: guide.steps }, (_, index) => guide.step(index + 1));
  const typed = [trial.step(2), [trial.yaml], ...steps].flat(2).join('\n');
  expect(typed.length).toBeGreaterThan(1000);
  expect(typed.length / 200).toBeLessThan(10);
});
