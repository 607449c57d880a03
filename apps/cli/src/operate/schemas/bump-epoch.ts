import { migrate } from '@tessera/stores';
import { systemClock, systemRandom } from '@tessera/kit';
import { bumpEpoch, migrations } from '@tessera/directory';
import { sayWhere, theDatabase } from '../../contexts/say-where.ts';
import { CommandError, type Terminal } from '../../terminal.ts';
import { patiently, withDatabase } from './with-database.ts';

/**
 * Invalidates every sign-in so far, and what was issued for it, in the database of `DATABASE_URL`, which its processes
 * notice. Throws CommandError if there is no such tenant, or no tenant at all.
 */
export async function bump(tenant: string | undefined, terminal: Terminal): Promise<void> {
  const epochs = await withDatabase(terminal, async (database, log) => {
    sayWhere(theDatabase, terminal);
    await patiently(async () => migrate(database, migrations, log, 'wait'), 'Waiting for the schema', log);
    const runtime = { clock: systemClock, random: systemRandom };
    const operator = { type: 'operator', id: 'operator' } as const;
    return patiently(async () => bumpEpoch(database, runtime, tenant, operator), 'Bumping the epoch', log);
  });
  if (epochs.length === 0)
    throw new CommandError(tenant === undefined ? 'There is no tenant.' : `There is no tenant ${tenant}.`);
  for (const { tenantId, validFrom } of epochs) {
    const since = new Date(validFrom * 1000).toISOString();
    terminal.say(`${tenantId}: sign-ins before ${since} are no longer valid\n`);
  }
}
