import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { followStream, type FollowOptions } from './follow-stream.ts';

/** Streams of numbers: each opened one yields its list, and then ends, fails or waits for its signal. */
type Script = readonly (number | Error | 'wait')[];

const closing: (() => Promise<void>)[] = [];
let opened: AbortSignal[] = [];
let seen: string[] = [];

beforeEach(() => {
  opened = [];
  seen = [];
});
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closing.splice(0)) await close();
});

async function* play(script: Script, signal: AbortSignal): AsyncGenerator<number, void> {
  for (const step of script) {
    if (step instanceof Error) throw step;
    if (typeof step === 'number') yield step;
    else await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  }
}

function follow(scripts: readonly Script[], options: Partial<FollowOptions<number>> = {}) {
  const rest = [...scripts];
  const follower = followStream<number>({
    open(signal) {
      opened.push(signal);
      return play(rest.shift() ?? ['wait'], signal);
    },
    onMessage: (message, isFirst) => (seen.push(isFirst ? `first ${message}` : String(message)), true),
    onEnd: ({ message }, failures) => seen.push(`${message} ${failures}`),
    silenceMs: undefined,
    shortestPauseMs: 1,
    longestPauseMs: 4,
    ...options,
  });
  closing.push(() => follower.close());
  return follower;
}

describe('followStream', () => {
  it('opens the stream again when it ends or fails, and says why', async () => {
    follow([[1, 2], [new Error('refused')], [3, 'wait']]);
    await expect.poll(() => seen).toContain('first 3');
    expect(seen).toEqual(['first 1', '2', 'the server ended the stream 1', 'refused 2', 'first 3']);
  });

  it('counts failures until a message shows that nothing is missing', async () => {
    follow([[1], [2], [7], [new Error('refused')]], { onMessage: (message) => message === 7 });
    await expect.poll(() => seen).toHaveLength(4);
    const ended = 'the server ended the stream';
    expect(seen).toEqual([`${ended} 1`, `${ended} 2`, `${ended} 1`, 'refused 2']);
  });

  it('names what was thrown only if it is an error', async () => {
    const open = (): AsyncIterable<number> => {
      if (opened.push(new AbortController().signal) > 1) return play(['wait'], opened[1] as AbortSignal);
      return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject('text') }) };
    };
    const follower = followStream<number>({
      open,
      onMessage: () => true,
      onEnd: ({ message, cause }) => seen.push(`${message}: ${String(cause)}`),
      silenceMs: undefined,
      shortestPauseMs: 60_000,
      longestPauseMs: 60_000,
    });
    await expect.poll(() => seen).toEqual(['the stream failed: text']);
    await follower.close();
  });

  it('leaves a stream that has been silent for the time given', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    follow([[1, 'wait']], { silenceMs: 600 });
    await expect.poll(() => seen).toEqual(['first 1']);
    vi.advanceTimersByTime(500);
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual(['first 1']);
    vi.advanceTimersByTime(200);
    await expect.poll(() => seen).toEqual(['first 1', 'the server was silent 1']);
    expect(opened[0]?.aborted).toBe(true);
  });

  it('ends its stream when it is closed, without reporting it', async () => {
    const follower = follow([[1, 'wait']]);
    await expect.poll(() => seen).toEqual(['first 1']);
    await follower.close();
    expect(seen).toEqual(['first 1']);
    expect(opened.map(({ aborted }) => aborted)).toEqual([true]);
  });
});
