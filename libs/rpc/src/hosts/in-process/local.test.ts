import { create } from '@bufbuild/protobuf';
import { afterEach, expect, test, vi } from 'vitest';
import { rootCall } from '../../call-options.ts';
import { routeWhenCalled, type Handlers } from '../../call.ts';
import { local } from './local.ts';
import { createSubject, writeRequest } from '../../testing/subject.ts';
import { WriteResponseSchema } from '../../testing/trial/trial_pb.ts';
import { TrialService, TrialStreamService } from '../../testing/trial/trial-services.ts';

afterEach(() => void vi.restoreAllMocks());

test('a call in process passes messages without copying them', async () => {
  const subject = createSubject();
  const request = writeRequest();
  const answer = create(WriteResponseSchema, { texts: ['one'] });
  let received: unknown;
  subject.write = (given) => {
    received = given;
    return answer;
  };
  expect(await local(TrialService, subject.built, 'token', subject.log).write(request)).toBe(answer);
  expect(received).toBe(request);
});

test('a call in process without time-out and signal creates no timer and no signal', async () => {
  const subject = createSubject();
  subject.write = (_, context) => ({ texts: [context.requestId, JSON.stringify(context.onward())] });
  const client = local(TrialService, subject.built, 'token', subject.log);
  const timer = vi.spyOn(globalThis, 'setTimeout');
  const controller = vi.spyOn(globalThis, 'AbortController');
  const { texts } = await client.write(writeRequest(), rootCall('request-1'));
  expect(texts).toEqual(['request-1', JSON.stringify(rootCall('request-1'))]);
  expect(timer).not.toHaveBeenCalled();
  expect(controller).not.toHaveBeenCalled();
});

test('a call in process leaves no timer and no listener behind', async () => {
  const subject = createSubject();
  subject.write = () => ({});
  const client = local(TrialService, subject.built, 'token', subject.log);
  const { signal } = new AbortController();
  const added = vi.spyOn(signal, 'addEventListener');
  const removed = vi.spyOn(signal, 'removeEventListener');
  const cleared = vi.spyOn(globalThis, 'clearTimeout');
  await client.write(writeRequest(), rootCall('request-1', 60_000, signal));
  expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
    added.mock.calls.map(([, listener]) => listener),
  );
  expect(cleared).toHaveBeenCalledTimes(1);
});

test('creating a client for a service that is not offered fails', () => {
  const { built, log } = createSubject();
  const routes = built.routes.filter(({ service }) => service !== TrialService);
  expect(() => local(TrialService, { ...built, routes }, 'gateway', log)).toThrow(
    'keys does not offer tessera.trial.v1.TrialService',
  );
});

test('an unread stream starts no work', async () => {
  const subject = createSubject();
  let started = false;
  subject.watch = async function* () {
    started = true;
    yield {};
  };
  local(TrialStreamService, subject.built, 'token', subject.log).watch({});
  await Promise.resolve();
  expect(started).toBe(false);
});

test('handlers that are loaded when they are called are loaded once, and answer and stream as others do', async () => {
  const { built, log } = createSubject();
  let loads = 0;
  const write = routeWhenCalled(TrialService, async () => {
    loads += 1;
    return { write: () => ({ texts: ['one'] }) } as unknown as Handlers<typeof TrialService>;
  });
  const watch = routeWhenCalled(TrialStreamService, async () => ({
    async *watch() {
      yield {};
      yield {};
    },
  }));
  const late = { ...built, routes: [write, watch] };
  const client = local(TrialService, late, 'token', log);
  expect(loads).toBe(0);
  const answers = await Promise.all([client.write({}), client.write({})]);
  expect(answers.map(({ texts }) => texts)).toEqual([['one'], ['one']]);
  expect(loads).toBe(1);
  await expect(client.read({})).rejects.toThrow('internal error');
  const streamed = [];
  for await (const each of local(TrialStreamService, late, 'token', log).watch({})) streamed.push(each);
  expect(streamed).toHaveLength(2);
});
