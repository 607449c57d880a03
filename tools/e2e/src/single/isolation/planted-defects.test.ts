import { expect, it } from 'vitest';
import { defects } from './planted-defects.ts';

it('defects that are planted stand in the sources, which change without them', () => {
  expect(defects.length).toBeGreaterThanOrEqual(40);
  for (const { name, edits } of defects) expect(edits, name).not.toEqual([]);
});
