import { expect, it } from 'vitest';
import { awaitShared, rootCall, sharedCall } from './call-options.ts';

const gone = () => Promise.reject(new Error('gone'));

it('passes only the request id of a call on to shared work', () => {
  const call = rootCall('a-request', 50, new AbortController().signal);
  expect(sharedCall(call)).toEqual(rootCall('a-request'));
  expect(sharedCall({})).toEqual({});
});

it('gives the outcome of shared work to each caller that still waits', async () => {
  const work = Promise.resolve('found');
  const signal = new AbortController().signal;
  for (const call of [rootCall('a'), rootCall('b', 1_000), rootCall('c', undefined, signal)]) {
    expect(await awaitShared(work, call)).toBe('found');
    await expect(awaitShared(gone(), call)).rejects.toThrow('gone');
  }
});

it('releases a caller that gives up or runs out of time, even if the work fails later', async () => {
  const work = Promise.withResolvers<void>();
  const leaving = new AbortController();
  const left = awaitShared(work.promise, rootCall('left', undefined, leaving.signal));
  const late = awaitShared(work.promise, rootCall('late', 20));
  leaving.abort();
  await expect(left).rejects.toThrow('the caller gave up');
  await expect(late).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  work.reject(new Error('too late to matter'));
  const afterwards = awaitShared(new Promise(() => {}), { signal: leaving.signal });
  await expect(afterwards).rejects.toThrow('the caller gave up');
});
