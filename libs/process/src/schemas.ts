import { startAuditPurge } from '@tessera/audit';
import { migrate, pendingMigrations, whenAvailable, type Migrations } from '@tessera/stores';
import type { ProcessConfig } from './config/settings-of-every-process.ts';
import { CheckFailure, type Lifecycle } from './lifecycle.ts';
import type { Runtime } from './runtime.ts';

type SchemaSettings = Pick<ProcessConfig, 'TESSERA_MIGRATIONS' | 'TESSERA_AUDIT_RETENTION'>;

/**
 * Migrates the schemas of a process as soon as the database is available. From then on until the process ends,
 * readiness depends on them, and their audit rows are removed after the retention; never with a retention of 0.
 */
export async function maintainSchemas(
  schemas: readonly Migrations[],
  settings: SchemaSettings,
  runtime: Pick<Runtime, 'database' | 'clock' | 'log'>,
  lifecycle: Lifecycle,
): Promise<void> {
  const { TESSERA_MIGRATIONS: mode, TESSERA_AUDIT_RETENTION: retentionSeconds } = settings;
  const { database, log } = runtime;
  const waiting = { log, signal: lifecycle.signal, what: 'migration' };
  await migrateEach(schemas, log, (schema) =>
    whenAvailable(() => migrate(database, schema, log, mode), waiting),
  );
  checkSchemas(schemas, mode, runtime, lifecycle);
  if (retentionSeconds === 0) return;
  for (const { schema } of schemas) {
    const purge = startAuditPurge({ ...runtime, schema, retentionSeconds });
    lifecycle.onClose(() => purge.close());
  }
}

/** One line in the log for all that was applied, also before a schema that failed. */
async function migrateEach(
  schemas: readonly Migrations[],
  log: Runtime['log'],
  migrateOne: (schema: Migrations) => Promise<readonly string[] | undefined>,
): Promise<void> {
  const migrations: string[] = [];
  try {
    for (const schema of schemas) migrations.push(...((await migrateOne(schema)) ?? []));
  } finally {
    if (migrations.length > 0) log.info({ migrations }, 'migrations applied');
  }
}

/**
 * Withdraws readiness (`schema_behind`) while a schema lacks a migration that this process needs, as after the database
 * was replaced by an empty one, and gives it back once the schema is complete.
 */
function checkSchemas(
  schemas: readonly Migrations[],
  mode: SchemaSettings['TESSERA_MIGRATIONS'],
  { database, log }: Pick<Runtime, 'database' | 'log'>,
  lifecycle: Lifecycle,
): void {
  let applying: Promise<void> | undefined;
  const apply = async (): Promise<void> => {
    try {
      await migrateEach(schemas, log, (schema) => migrate(database, schema, log));
    } catch (error) {
      log.error({ err: error }, 'migration failed');
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
