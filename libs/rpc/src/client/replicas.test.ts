import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { relayTo } from '../testing/relay.ts';
import { at, servers } from '../testing/servers.ts';
import { createSubject, writeRequest } from '../testing/subject.ts';
import { TrialService, TrialStreamService } from '../testing/trial/trial-services.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const { served, clientOf } = servers(cleanUps);

/** A replica that counts its calls, behind a network that can lose them. */
async function replica() {
  const subject = createSubject();
  const counted = { calls: 0 };
  const answer = () => {
    counted.calls += 1;
    return {};
  };
  subject.write = answer;
  subject.read = answer;
  const server = await served(subject);
  const network = await relayTo(server);
  cleanUps.push(() => network.close());
  return { subject, server, counted, network, target: `127.0.0.1:${network.port}` };
}

/** Shorter than the default, so that silence is noticed sooner. */
const keepaliveMs = 1_500;

const unavailable = { code: 'temporarily_unavailable' };

test('calls are spread over all reachable hosts of a list, names and addresses', async () => {
  const [first, second, gone] = [await replica(), await replica(), await replica()];
  await gone.server.drain();
  const list = [at(first.server).replace('127.0.0.1', 'localhost'), at(second.server), at(gone.server)];
  const trial = clientOf(list.join(',')).client(TrialService);
  await expect
    .poll(async () => {
      await trial.write(writeRequest());
      return Math.min(first.counted.calls, second.counted.calls);
    })
    .toBeGreaterThan(0);
  first.counted.calls = 0;
  second.counted.calls = 0;
  for (let n = 0; n < 30; n += 1) await trial.write(writeRequest());
  expect([first.counted.calls, second.counted.calls]).toEqual([15, 15]);
});

test('a list of unknown hosts fails calls', async () => {
  const trial = clientOf('nobody.invalid:1,nothing.invalid:1').client(TrialService);
  await expect(trial.write(writeRequest())).rejects.toMatchObject(unavailable);
});

test('reads at a silent replica move to another one once a ping is unanswered', async () => {
  const [first, second] = [await replica(), await replica()];
  const trial = clientOf(`${first.target},${second.target}`, { keepaliveMs }).client(TrialService);
  await expect
    .poll(async () => {
      await trial.read({});
      return Math.min(first.counted.calls, second.counted.calls);
    })
    .toBeGreaterThan(0);
  first.network.silence();
  const before = second.counted.calls;
  await Promise.all(Array.from({ length: 20 }, () => trial.read({}, { timeoutMs: 10_000 })));
  expect(second.counted.calls - before).toBe(20);
});

test('a call with side effects fails at a silent replica, and later ones go to another', async () => {
  const [first, second] = [await replica(), await replica()];
  const trial = clientOf(`${first.target},${second.target}`, { keepaliveMs }).client(TrialService);
  await expect
    .poll(async () => {
      await trial.write(writeRequest());
      return Math.min(first.counted.calls, second.counted.calls);
    })
    .toBeGreaterThan(0);
  first.network.silence();
  const started = performance.now();
  const calls = await Promise.allSettled(
    Array.from({ length: 10 }, () => trial.write(writeRequest(), { timeoutMs: 20_000 })),
  );
  const failures = calls.filter((call) => call.status === 'rejected');
  expect(failures).toHaveLength(5);
  for (const { reason } of failures) expect(reason).toMatchObject(unavailable);
  // Long before the deadline: by the ping that stays without an answer.
  expect(performance.now() - started).toBeLessThan(10_000);
  for (let n = 0; n < 10; n += 1) await trial.write(writeRequest());
});

test('the streams and calls of a single silent replica fail, and it serves again once it answers', async () => {
  const only = await replica();
  only.subject.watch = async function* () {
    yield { sequence: 1n };
    await new Promise(() => {});
  };
  const remote = clientOf(only.target, { keepaliveMs });
  const changes = remote.client(TrialStreamService).watch({})[Symbol.asyncIterator]();
  expect(await changes.next()).toMatchObject({ done: false });
  only.network.silence();
  await expect(changes.next()).rejects.toMatchObject(unavailable);
  const trial = remote.client(TrialService);
  await expect(trial.write(writeRequest(), { timeoutMs: 300 })).rejects.toMatchObject(unavailable);
  only.network.speak();
  await expect
    .poll(() => trial.write(writeRequest(), { timeoutMs: 500 }).catch(() => undefined))
    .toBeDefined();
});

test('a response slower than a ping interval arrives, even on a connection that reached its age', async () => {
  const subject = createSubject();
  subject.write = async () => {
    await sleep(2_000);
    return { texts: ['late'] };
  };
  const server = await served(subject, { connectionAgeMs: 100 });
  const trial = clientOf(at(server)).client(TrialService);
  await expect(trial.write(writeRequest(), { timeoutMs: 20_000 })).resolves.toMatchObject({
    texts: ['late'],
  });
});
