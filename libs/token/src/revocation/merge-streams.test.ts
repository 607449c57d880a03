import { describe, expect, it } from 'vitest';
import { mergeStreams } from './merge-streams.ts';

/** A stream of numbers that is always ready, and says when it was returned. */
class Numbers implements AsyncIterator<number> {
  returned = false;
  readonly #trouble: Error | undefined;
  #next = 0;

  constructor(trouble?: Error) {
    this.#trouble = trouble;
  }

  async next(): Promise<IteratorResult<number>> {
    return { done: false, value: (this.#next += 1) };
  }

  async return(): Promise<IteratorResult<number>> {
    this.returned = true;
    if (this.#trouble !== undefined) throw this.#trouble;
    return { done: true, value: undefined };
  }
}

describe('merged streams', () => {
  it('are all returned when the caller leaves, even one that waits with an item and one that fails to end', async () => {
    const streams = {
      first: new Numbers(),
      second: new Numbers(new Error('in pieces')),
      third: new Numbers(),
    };
    for await (const heard of mergeStreams(streams)) if (heard.from === 'first') break;
    expect(Object.values(streams).map(({ returned }) => returned)).toEqual([true, true, true]);
  });

  it('are all returned when one of them fails', async () => {
    const streams = {
      broken: { next: () => Promise.reject<IteratorResult<number>>(new Error('cut')) },
      other: new Numbers(),
    };
    const hearing = (async () => {
      for await (const _ of mergeStreams<{ broken: number; other: number }>(streams));
    })();
    await expect(hearing).rejects.toThrow('cut');
    expect(streams.other.returned).toBe(true);
  });

  it('are read in turn, even if one of them is busy', async () => {
    const streams = { busy: new Numbers(), other: new Numbers() };
    const heard: string[] = [];
    for await (const { from } of mergeStreams(streams)) {
      heard.push(from);
      // Everybody has an item ready by the time the caller comes back.
      await new Promise((resolve) => setImmediate(resolve));
      if (heard.length === 6) break;
    }
    expect(heard.filter((from) => from === 'other')).toHaveLength(3);
  });
});
