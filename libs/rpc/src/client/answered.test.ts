import { Secret } from '@tessera/kit';
import { freePort } from '@tessera/test-kit/provision';
import { afterEach, expect, test } from 'vitest';
import { servers } from '../testing/servers.ts';
import { createSubject, writeRequest } from '../testing/subject.ts';
import { TrialService, TrialStreamService } from '../testing/trial/trial-services.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const { served, clientOf } = servers(cleanUps);

/** A service at an address where it is not started yet, and a client of it. */
async function notYetStarted() {
  const subject = createSubject();
  subject.write = () => ({ texts: ['signed'] });
  subject.watch = async function* () {
    yield { sequence: 7n };
  };
  const port = await freePort();
  const remote = clientOf(`127.0.0.1:${port}`);
  const hasAnswered = async () =>
    remote.answered().then(
      () => true,
      () => false,
    );
  return { subject, port, remote, hasAnswered };
}

test('a peer has answered once every client reaches it: their first calls succeed, whatever they do', async () => {
  const { subject, port, remote, hasAnswered } = await notYetStarted();
  const [trial, streams] = [remote.client(TrialService), remote.client(TrialStreamService)];
  // Several attempts, so that the channels wait longest before the next one.
  for (let attempt = 0; attempt < 3; attempt += 1) expect(await hasAnswered()).toBe(false);
  await served(subject, { port });
  await expect.poll(hasAnswered).toBe(true);
  await expect(trial.write(writeRequest())).resolves.toMatchObject({ texts: ['signed'] });
  for await (const { sequence } of streams.watch({})) expect(sequence).toBe(7n);
});

test('a peer that has answered counts as such when it is gone', async () => {
  const { subject, port, remote, hasAnswered } = await notYetStarted();
  remote.client(TrialService);
  const server = await served(subject, { port });
  await expect.poll(hasAnswered).toBe(true);
  await server.drain();
  expect(await hasAnswered()).toBe(true);
});

test('a peer that refuses the caller has not answered', async () => {
  const { subject, port } = await notYetStarted();
  await served(subject, { port });
  const credentials = { kind: 'token', token: new Secret('another token for this test') } as const;
  const stranger = clientOf(`127.0.0.1:${port}`, { credentials });
  stranger.client(TrialService);
  await expect(stranger.answered()).rejects.toMatchObject({ name: 'ConnectError' });
});

test('a stream waits for a peer that has not started, and fails as before once it has answered', async () => {
  const { subject, port, remote } = await notYetStarted();
  const streams = remote.client(TrialStreamService);
  const first = streams.watch({})[Symbol.asyncIterator]().next();
  const server = await served(subject, { port });
  expect(await first).toMatchObject({ value: { sequence: 7n } });
  await server.drain();
  const again = streams.watch({})[Symbol.asyncIterator]().next();
  await expect(again).rejects.toMatchObject({ code: 'temporarily_unavailable' });
});
