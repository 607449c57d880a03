import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { knownReasons, whatToChange } from './what-to-change.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

it.each(knownReasons)(
  '%s is a reason of a service that writes events, and is told in the languages',
  (reason) => {
    expect(read('docs/audit.md') + read('docs/troubleshooting.md')).toContain(
      `\`${reason.replace(/\.$/, '')}`,
    );
    const sentence = whatToChange(reason) ?? '';
    for (const tag of ['en', 'de', 'ar'])
      expect(JSON.parse(read(`libs/languages/messages/console-activity/${tag}.json`))).toHaveProperty([
        sentence,
      ]);
  },
);

it('knows no reason that JavaScript has by itself', () => {
  for (const reason of ['constructor', '__proto__', '', 'unheard_of'])
    expect(whatToChange(reason)).toBeUndefined();
});

it('tells of every limit of sign-ins the same', () => {
  expect(whatToChange('sign-in.address')).toBe(whatToChange('sign-in.account'));
});
