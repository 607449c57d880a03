import type { Database } from '../database.ts';
import { sqlState } from '@tessera/telemetry';
import { remedyFor } from '../store-errors.ts';

interface Standing {
  readonly role: string;
  readonly database: string;
  /** Of the schema; null where there is none yet. */
  readonly owner: string | null;
}

const standing = `
  SELECT quote_ident(current_user) AS role, quote_ident(current_database()) AS database,
         (SELECT quote_ident(pg_get_userbyid(nspowner)) FROM pg_namespace WHERE nspname = $1) AS owner`;

/** What the role wanted to do with a schema: migrate it, wait for its migrations, or work in it. */
export type Aim = 'apply' | 'wait' | 'work';

/**
 * What to throw for an error of a migration or of a trial: where the role lacks a right, one that names the role, and
 * what to grant or whom to be instead; any other error as it is.
 */
export async function explainRights(
  database: Database,
  schema: string,
  aim: Aim,
  error: unknown,
): Promise<unknown> {
  const refused = [error, error instanceof Error && error.cause].find((one) => sqlState(one) === '42501');
  if (!(refused instanceof Error)) return error;
  const { rows } = await database.query<Standing>({
    name: 'migrate.standing',
    text: standing,
    values: [schema],
  });
  const [found] = rows;
  if (found === undefined) return error;
  const missing = found.owner === null ? 'make' : 'change';
  const what = aim === 'apply' ? missing : aim === 'wait' ? 'read' : 'read and write';
  return new Error(
    `The role ${found.role} may not ${what} the schema ${schema}: ${refused.message}. ${remedy(found, schema, aim, refused)}`,
    { cause: refused },
  );
}

function remedy({ role, database, owner }: Standing, schema: string, aim: Aim, refused: Error): string {
  if (owner === null)
    return `Run GRANT CREATE ON DATABASE ${database} TO ${role}, or migrate as another role.`;
  if (owner === role) return remedyFor(refused) ?? '';
  if (aim === 'apply') {
    return `Migrate as its owner, ${owner}, and start the processes of ${role} with TESSERA_MIGRATIONS=wait.`;
  }
  const grants = [
    `GRANT USAGE ON SCHEMA ${schema} TO ${role}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
    `GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role}`,
  ];
  return `Run as its owner, ${owner}: ${grants.join('; ')}.`;
}
