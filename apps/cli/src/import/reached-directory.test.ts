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

it('is reached for some calls at a time, and anew after a failure', async () => {
  const config = loadConfig(directoryProcessConfig, { TESSERA_DIRECTORY_PEPPER: pepper });
  const runtime = testRuntime({ database: await testDatabase(directoryMigrations), log: silentLog() });
  const environment = await serving(buildDirectory(config, {}, runtime), 'directory');
  let time = 0;
  const terminal: Terminal = {
    environment,
    out: () => undefined,
    say: () => undefined,
    input: async () => '',
    fetch,
    sleep: async () => undefined,
    // Two looks are within a session, and three are not.
    now: () => (time += 15_000),
  };
  const directory = reachDirectory(terminal, false);
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
