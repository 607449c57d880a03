import type { OpenedDatabase } from '../database.ts';
import { explainRights } from './migration-rights.ts';

/**
 * Tables of a schema with the columns that a statement may set; the list of migrations is written by whoever migrates.
 */
const tables = `
  SELECT quote_ident(nspname) || '.' || quote_ident(relname) AS name,
         string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns, min(quote_ident(attname)) AS column
    FROM pg_namespace n JOIN pg_class c ON relnamespace = n.oid JOIN pg_attribute ON attrelid = c.oid
   WHERE nspname = $1 AND relkind IN ('r', 'p') AND relname <> 'schema_migration'
     AND attnum > 0 AND NOT attisdropped AND attidentity = '' AND attgenerated = ''
   GROUP BY nspname, relname ORDER BY relname`;

interface Table {
  readonly name: string;
  readonly columns: string;
  readonly column: string;
}

/** Thrown to take the trial back. */
const undone = new Error('The trial is taken back.');

/**
 * Reads and writes each table of a schema as its service does, and takes it back: one audit row, and in every table
 * statements that find no row.
 * @throws Error that names the role, the table and the GRANT, where the role lacks a right; OAuthError
 *   `temporarily_unavailable` where the database does not write
 */
export async function tryRights(database: OpenedDatabase, schema: string): Promise<void> {
  const { rows } = await database.query<Table>({ name: 'rights.tables', text: tables, values: [schema] });
  const statements = rows.flatMap(({ name, columns, column }) => [
    `SELECT ${columns} FROM ${name} WHERE false`,
    `INSERT INTO ${name} (${columns}) SELECT ${columns} FROM ${name} WHERE false`,
    `UPDATE ${name} SET ${column} = ${column} WHERE false`,
    `DELETE FROM ${name} WHERE false`,
  ]);
  try {
    await database.migration(async (session) => {
      await session.run(statements.join(';\n'));
      await session.run(`
        INSERT INTO ${schema}.audit_event (event_id, event, tenant_id, outcome, reason, record)
        VALUES (gen_random_uuid()::text, 'rights.tried', '', 'success', '', '{}')`);
      throw undone;
    });
  } catch (error) {
    if (error !== undone) throw await explainRights(database, schema, 'work', error);
  }
}
