import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { longest } from './sequencer.ts';

it('names test files that exist as those that start first', () => {
  const root = join(import.meta.dirname, '../..');
  const found = globSync('{apps,libs,tools}/**/src/**/*.test.ts', {
    cwd: root,
    exclude: (path) => path === 'node_modules',
  });
  const names = new Set(found.map((path) => basename(path, '.test.ts').replace('.thorough', '')));
  expect(longest.filter((name) => !names.has(name))).toEqual([]);
});
