import { create } from '@bufbuild/protobuf';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { KeysService, SignResponseSchema } from '@tessera/proto-gen/keys';
import { TokenService } from '@tessera/proto-gen/token';
import { afterEach, expect, test, vi } from 'vitest';
import { rootCall } from '../../call-options.ts';
import { local } from './local.ts';
import { createSubject, signRequest } from '../../testing/subject.ts';

afterEach(() => void vi.restoreAllMocks());

test('a call in process passes messages without copying them', async () => {
  const subject = createSubject();
  const request = signRequest();
  const answer = create(SignResponseSchema, { tokens: ['one'] });
  let received: unknown;
  subject.sign = (given) => {
    received = given;
    return answer;
  };
  expect(await local(KeysService, subject.built, 'token', subject.log).sign(request)).toBe(answer);
  expect(received).toBe(request);
});

test('a call in process without time-out and signal creates no timer and no signal', async () => {
  const subject = createSubject();
  subject.sign = (_, context) => ({ tokens: [context.requestId, JSON.stringify(context.onward())] });
  const client = local(KeysService, subject.built, 'token', subject.log);
  const timer = vi.spyOn(globalThis, 'setTimeout');
  const controller = vi.spyOn(globalThis, 'AbortController');
  const { tokens } = await client.sign(signRequest(), rootCall('request-1'));
  expect(tokens).toEqual(['request-1', JSON.stringify(rootCall('request-1'))]);
  expect(timer).not.toHaveBeenCalled();
  expect(controller).not.toHaveBeenCalled();
});

test('a call in process leaves no timer and no listener behind', async () => {
  const subject = createSubject();
  subject.sign = () => ({});
  const client = local(KeysService, subject.built, 'token', subject.log);
  const { signal } = new AbortController();
  const added = vi.spyOn(signal, 'addEventListener');
  const removed = vi.spyOn(signal, 'removeEventListener');
  const cleared = vi.spyOn(globalThis, 'clearTimeout');
  await client.sign(signRequest(), rootCall('request-1', 60_000, signal));
  expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
    added.mock.calls.map(([, listener]) => listener),
  );
  expect(cleared).toHaveBeenCalledTimes(1);
});

test('creating a client for a service that is not offered fails', () => {
  const { built, log } = createSubject();
  expect(() => local(TokenService, built, 'gateway', log)).toThrow(
    'keys does not offer tessera.token.v1.TokenService',
  );
});

test('an unread stream starts no work', async () => {
  const subject = createSubject();
  let started = false;
  subject.watchChanges = async function* () {
    started = true;
    yield {};
  };
  local(DirectoryService, subject.built, 'token', subject.log).watchChanges({});
  await Promise.resolve();
  expect(started).toBe(false);
});
