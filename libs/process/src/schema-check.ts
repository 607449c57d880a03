import { type MigrationMode, type Migrations, migrate, pendingMigrations } from '@tessera/stores';
import type { Logger } from '@tessera/telemetry';
import type { Database } from '@tessera/stores';
import { CheckFailure, type Lifecycle } from './lifecycle.ts';

export interface SchemaCheckOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly lifecycle: Pick<Lifecycle, 'check' | 'signal'>;
  /** `apply`: missing migrations are applied again. `wait`: `tessera migrate` has to. */
  readonly mode: MigrationMode;
}

/**
 * Withdraws readiness (`schema_behind`) while a schema lacks a migration that this process needs, as after the database was
 * replaced by an empty one, and gives it back once the schema is complete.
 */
export function checkSchemas(schemas: readonly Migrations[], options: SchemaCheckOptions): void {
  const { database, log, lifecycle, mode } = options;
  let applying: Promise<void> | undefined;
  const apply = async (): Promise<void> => {
    try {
      for (const migrations of schemas) await migrate(database, migrations, log);
    } catch (error) {
      log.error({ error }, 'migration failed');
    } finally {
      applying = undefined;
    }
  };
  lifecycle.check('schema', async () => {
    const pending = await Promise.all(schemas.map(async (each) => pendingMigrations(database, each)));
    const [missing] = pending.flat();
    if (missing === undefined) return;
    if (mode === 'apply' && !lifecycle.signal.aborted) applying ??= apply();
    const remedy = mode === 'wait' ? ' Run tessera migrate; in the chart, change migrations.revision.' : '';
    throw new CheckFailure('schema_behind', `Migration ${missing} is not applied.${remedy}`);
  });
}
