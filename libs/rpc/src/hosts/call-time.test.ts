import { callTimeLeft, isInCall } from '@tessera/kit';
import { expect, it } from 'vitest';
import { rootCall } from '../call-options.ts';
import { route, type CallerName } from '../call.ts';
import { createSubject } from '../testing/subject.ts';
import { TrialService } from '../testing/trial/trial-services.ts';
import { local } from './in-process/local.ts';

/**
 * A client of a service whose changes and reads note what time they had, when they begin and when `resume` is called.
 */
function open(caller: CallerName) {
  const { built, log } = createSubject();
  const times: unknown[] = [];
  const { promise, resolve: resume } = Promise.withResolvers<void>();
  const note = () => times.push(isInCall() ? callTimeLeft() : 'no call');
  const work = async () => {
    note();
    await promise;
    note();
    return {};
  };
  const routes = [route(TrialService, { read: work, write: work, change: work })];
  const client = local(TrialService, { ...built, routes }, caller, log);
  return { client, times, resume };
}

it('a change for an administrator knows how long its caller waits, less the way of the answer', async () => {
  const { client, times, resume } = open('admin');
  resume();
  await client.change({}, rootCall('request-1', 60_000));
  for (const time of times) expect(time).toBeGreaterThan(50_000);
  for (const time of times) expect(time).toBeLessThanOrEqual(60_000 - 20);
  expect(times).toHaveLength(2);
});

it('a change whose caller gave up, or whose time is over, has no time left', async () => {
  const leaving = new AbortController();
  for (const options of [rootCall('request-2', 30), rootCall('request-3', undefined, leaving.signal)]) {
    const { client, times, resume } = open('operator');
    const changing = client.change({}, options);
    setTimeout(() => leaving.abort(), 30);
    await expect(changing).rejects.toThrow();
    resume();
    await expect.poll(() => times).toHaveLength(2);
    expect(times[1]).toBe(0);
  }
});

it('reads, and calls without a deadline, are not bounded', async () => {
  const [reading, changing] = [open('admin'), open('admin')];
  reading.resume();
  changing.resume();
  await reading.client.read({}, rootCall('request-4', 60_000));
  await changing.client.change({});
  expect(reading.times).toEqual(['no call', 'no call']);
  expect(changing.times).toEqual([Infinity, Infinity]);
});
