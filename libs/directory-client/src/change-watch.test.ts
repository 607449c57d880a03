import { FakeDirectory } from './testing/fake-directory.ts';
import { silentLog, waitFor } from '@tessera/test-kit';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ChangeWatch } from './change-watch.ts';

let directory: FakeDirectory;
let watch: ChangeWatch;

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'],
  });
  // Sends its position at the start and nothing by itself.
  directory = new FakeDirectory('token', 0);
});

afterEach(async () => {
  vi.useRealTimers();
  await watch.close();
});

async function follow(client: FakeDirectory['client']): Promise<void> {
  watch = new ChangeWatch({
    directory: client,
    runtime: { log: silentLog() },
    onChange: () => undefined,
    onGap: () => undefined,
  });
  await waitFor(() => expect(watch.connected).toBe(true));
}

it('does not give up a directory in the same process because it is silent, as under overload', async () => {
  await follow(directory.client);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(watch.connected).toBe(true);
  expect(directory.calls.watchChanges).toBe(1);
});

it('gives up a directory in the same process that cannot read its changes', async () => {
  await follow(directory.client);
  directory.unavailable = true;
  directory.changes.disconnect();
  await waitFor(() => expect(watch.connected).toBe(false));
});

it('gives up a directory in another process that has been silent for three seconds', async () => {
  await follow({ ...directory.client });
  await vi.advanceTimersByTimeAsync(2_900);
  expect(watch.connected).toBe(true);
  directory.unavailable = true;
  await vi.advanceTimersByTimeAsync(200);
  await waitFor(() => expect(watch.connected).toBe(false));
});
