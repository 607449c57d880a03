import { migrate } from '@tessera/stores';
import { sayWhere, theDatabase } from '../../contexts/say-where.ts';
import type { Terminal } from '../../terminal.ts';
import { CommandError } from '../../terminal.ts';
import { patiently, withDatabase } from './with-database.ts';
import { schemas } from '../../processes.ts';

/** Brings every schema up to date, in order. Throws CommandError when a file cannot be applied. */
export async function migrateSchemas(terminal: Terminal): Promise<void> {
  await withDatabase(terminal, async (database, log) => {
    sayWhere(theDatabase, terminal);
    for (const migrations of schemas) {
      const applying = patiently(
        async () => migrate(database, migrations, log),
        `Migrating ${migrations.schema}`,
        log,
      );
      await applying.catch((error: unknown) => {
        // If Postgres refuses, the operator must choose another role.
        throw error instanceof Error && !(error instanceof TypeError)
          ? new CommandError(error.message)
          : error;
      });
      terminal.say(`${migrations.schema} is up to date.\n`);
    }
  });
}
