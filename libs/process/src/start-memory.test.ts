import { getHeapSpaceStatistics } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { giveBackStartMemory } from './start-memory.ts';

const young = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.physical_space_size ?? 0;

/** Has much survive for a while, as loading modules does: V8 makes the young generation larger. */
function grow(): void {
  let kept: unknown[] = [];
  for (let round = 0; round < 40; round += 1) {
    kept = [...kept.slice(-20_000), ...Array.from({ length: 20_000 }, (_, index) => ({ index }))];
  }
  expect(kept.length).toBeGreaterThan(0);
}

describe('the memory of the start', () => {
  it('is given back, and no collector stays within reach', () => {
    grow();
    const before = young();
    giveBackStartMemory();
    expect(young()).toBeLessThan(before);
    expect(globalThis).not.toHaveProperty('gc');
  });
});
