import { describe, expect, it } from 'vitest';
import { NotedLater } from './noted-later.ts';

function noting(capacity = 10) {
  const written: (readonly number[])[] = [];
  const failures: number[] = [];
  const state = { fails: false };
  const notes = new NotedLater<number>({
    write: async (values) => {
      if (state.fails) throw new Error('unavailable');
      written.push(values);
    },
    pauseMs: 60_000,
    capacity,
    onError: (_, values) => failures.push(values),
  });
  return { notes, written, failures, state };
}

describe('what is noted for later', () => {
  it('is written once, of each key the last', async () => {
    const { notes, written } = noting();
    notes.note('a', 1);
    notes.note('b', 2);
    notes.note('a', 3);
    await notes.close();
    expect(written).toEqual([[3, 2]]);
  });

  it('is left out beyond its capacity, but for keys that are noted already', async () => {
    const { notes, written } = noting(1);
    notes.note('a', 1);
    notes.note('b', 2);
    notes.note('a', 3);
    await notes.close();
    expect(written).toEqual([[3]]);
  });

  it('comes again after a failure, unless there is a later value', async () => {
    const { notes, written, failures, state } = noting();
    state.fails = true;
    notes.note('a', 1);
    notes.note('b', 2);
    await notes.close();
    state.fails = false;
    notes.note('a', 3);
    await notes.close();
    expect(failures).toEqual([2]);
    expect(written).toEqual([[3, 2]]);
  });

  it('writes nothing when nothing is noted', async () => {
    const { notes, written } = noting();
    await notes.close();
    expect(written).toEqual([]);
  });
});
