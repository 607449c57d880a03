import { expect, it } from 'vitest';
import { fittingAttributes } from './fitting-attributes.ts';

it('what a person has room for stays', () => {
  expect(fittingAttributes({ id: '1' }, { team: 'engines' })).toEqual({
    kept: { team: 'engines', id: '1' },
    gone: [],
  });
});

it('the largest attributes go first, and never those of ours', () => {
  const others = { small: 'x', large: 'x'.repeat(2000), larger: 'x'.repeat(2100) };
  const { kept, gone } = fittingAttributes({ id: 'x'.repeat(1500) }, others);
  expect(gone).toEqual(['larger']);
  expect(Object.keys(kept)).toEqual(['small', 'large', 'id']);
});

it('of attributes of one size the last go first', () => {
  const others = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`k${index}`, 'v']));
  expect(fittingAttributes({ id: '1' }, others).gone).toEqual(['k50', 'k49']);
});
