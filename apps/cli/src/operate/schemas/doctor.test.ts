import { newDatabaseUrl } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { examine } from './doctor.ts';

it('reports a wrong clock and its fix (F14)', async () => {
  let said = '';
  const terminal = {
    environment: { DATABASE_URL: await newDatabaseUrl() },
    out: () => undefined,
    say: (text: string) => void (said += text),
    input: async () => '',
    fetch,
    sleep: async () => undefined,
    now: () => Date.now() - 60_400,
  };
  await expect(examine('standalone', terminal)).rejects.toThrow('checks failed.');
  expect(said).toContain(
    "BAD   clock of the database: The clock of this machine is 60 s behind the database's. " +
      'Synchronise the clocks of both with NTP.\n',
  );
});
