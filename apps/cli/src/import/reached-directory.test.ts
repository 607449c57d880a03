import { expect, it } from 'vitest';
import { migrations as directoryMigrations } from '@tessera/directory';
import { buildDirectory, directoryProcessConfig } from '@tessera/people';
import { loadConfig } from '@tessera/process';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { Code, ConnectError } from '@tessera/rpc';
import { silentLog, testDatabase, testRuntime } from '@tessera/test-kit';
import { CommandError, type Terminal } from '../terminal.ts';
import { pepper, serving } from '../testing/run-command.ts';
import { reachDirectory } from './reached-directory.ts';

async function open(time: () => number, slept: number[] = []) {
  const config = loadConfig(directoryProcessConfig, { TESSERA_DIRECTORY_PEPPER: pepper });
  const runtime = testRuntime({ database: await testDatabase(directoryMigrations), log: silentLog() });
  const environment = await serving(buildDirectory(config, {}, runtime), 'directory');
  const terminal: Terminal = {
    environment,
    out: () => undefined,
    say: () => undefined,
    input: async () => '',
    fetch,
    sleep: async (milliseconds) => void slept.push(milliseconds),
    now: time,
  };
  return reachDirectory(terminal, false);
}

it('is reached for some calls at a time, and anew after a failure', async () => {
  let time = 0;
  // Two looks are within a session, and three are not.
  const directory = await open(() => (time += 7_500));
  const reached = new Set<unknown>();
  const count = async () =>
    directory.call(async (clientOf, call) => {
      reached.add(clientOf);
      return (await clientOf(TenantsService).list({}, call)).tenants.length;
    });
  expect([await count(), await count(), reached.size]).toEqual([0, 0, 1]);
  expect([await count(), reached.size]).toEqual([0, 2]);
  const refused = directory.call(async () => {
    throw new ConnectError('That is refused.', Code.PermissionDenied);
  });
  await expect(refused).rejects.toThrow(new CommandError('That is refused.'));
  expect([await count(), reached.size]).toEqual([0, 3]);
  await directory.end();
});

it('is asked again for a minute once it has answered, where it is unavailable', async () => {
  let time = 0;
  const slept: number[] = [];
  const directory = await open(() => time, slept);
  const unavailable = async (times: number) => {
    let tries = 0;
    return directory.call(async (clientOf, call) => {
      await clientOf(TenantsService).list({}, call);
      tries += 1;
      time += 1_000;
      if (tries <= times) throw new ConnectError('Try again.', Code.Unavailable);
      return tries;
    });
  };
  await expect(unavailable(1)).rejects.toThrow('Try again.');
  expect(await unavailable(0)).toBe(1);
  expect(await unavailable(5)).toBe(6);
  expect(slept).toEqual([500, 1_000, 2_000, 4_000, 5_000]);
  await expect(unavailable(100)).rejects.toThrow('Try again.');
  expect(slept).toHaveLength(5 + 59);
  await directory.end();
});
