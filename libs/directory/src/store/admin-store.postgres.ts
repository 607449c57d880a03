import { type Database, type Queryable } from '@tessera/stores';
import { claimedValues } from '../plans/claimed-values.ts';
import type { PresentState } from '../plans/tenant-state.ts';
import { readTenantState } from './tenant-state.postgres.ts';
import { normalizeIdentifier, storedForms } from '../users/identifiers.ts';
import { insertAuditRows, type AuditRuntime } from '../ground/audit-rows.postgres.ts';
import { concludeChange } from '../ground/conclude-change.postgres.ts';
import { againIfTakenMeanwhile, carryOut, TakenMeanwhile, type PlanRuntime } from './carry-out.postgres.ts';
import { tenantValidFrom } from '../ground/valid-from.ts';
import { lockTenant } from '../ground/locks.postgres.ts';
import type { AdminStore, Decide, PasswordRenewal, TenantChangeResult } from './store.ts';
import { takenValues } from './taken-values.postgres.ts';

/** Writes of the durable records in Postgres or PGlite. */
export function createAdminStore(database: Database, runtime: PlanRuntime): AdminStore {
  return {
    async passwordHashes(tenantId, usernames, userIds = []) {
      if (usernames.length === 0 && userIds.length === 0) return new Map();
      const { rows } = await database.query<PasswordRow>({
        name: 'directory.password_hashes',
        text: `SELECT user_id, username, password_hash, imported_hash FROM directory.user_account
                WHERE tenant_id = $1 AND (password_hash IS NOT NULL OR imported_hash IS NOT NULL)
                  AND user_id IN (SELECT user_id FROM directory.user_identifier
                                   WHERE tenant_id = $1 AND identifier = ANY($2::text[]))
                UNION
               SELECT user_id, username, password_hash, imported_hash FROM directory.user_account
                WHERE tenant_id = $1 AND user_id = ANY($3::text[])`,
        values: [tenantId, usernames.flatMap(storedForms), userIds],
      });
      return new Map(
        rows.map((row) => [
          normalizeIdentifier(row.username),
          {
            userId: row.user_id,
            hash: row.password_hash ?? undefined,
            imported: row.imported_hash ? Buffer.from(row.imported_hash) : undefined,
          },
        ]),
      );
    },

    replacePasswordHash: (renewal) => replacePasswordHash(database, runtime, renewal),

    takenValues: (plan, tenants) =>
      takenValues(database, plan.desired.tenant.tenantId, claimedValues(plan), { ...runtime, tenants }),

    async tenantIds() {
      const { rows } = await database.query<{ tenant_id: string }>({
        name: 'directory.tenant_ids',
        text: 'SELECT tenant_id FROM directory.tenant ORDER BY tenant_id',
      });
      return rows.map((row) => row.tenant_id);
    },

    tenantState: (tenantId, names, subjects) =>
      database.transaction(async (tx) => {
        await lockTenant(tx, tenantId, 'alone');
        return readTenantState(tx, tenantId, names, subjects);
      }),

    changeTenant: (tenantId, decide, names, subjects) =>
      againIfTakenMeanwhile(() =>
        database.transaction(async (tx) => {
          await lockTenant(tx, tenantId, 'alone');
          const current = await readTenantState(tx, tenantId, names, subjects);
          return changeTenant(tx, runtime, current, { tenantId, decide });
        }),
      ),

    bumpEpoch: (tenantId, event) =>
      database.transaction(async (tx) => {
        const { rows } = await tx.query<{ tenant_id: string; valid_from: number }>({
          name: 'directory.bump_epoch',
          text: `WITH bumped AS (
                   UPDATE directory.tenant b
                      SET valid_from = ${tenantValidFrom('b.tenant_id')}, updated_at = clock_timestamp()
                    WHERE $1::text IS NULL OR tenant_id = $1
                RETURNING tenant_id, valid_from
                 )
                 SELECT tenant_id, valid_from::float8 AS valid_from FROM bumped ORDER BY tenant_id`,
          values: [tenantId ?? null],
        });
        const epochs = rows.map((row) => ({ tenantId: row.tenant_id, validFrom: row.valid_from }));
        const events = epochs.map((epoch) => ({ ...event, tenantId: epoch.tenantId }));
        await concludeChange(tx, runtime, {
          events,
          changes: epochs.map((epoch) => ({
            kind: 'tenant',
            tenantId: epoch.tenantId,
            id: '',
            endsAll: true,
          })),
        });
        return epochs;
      }),
  };
}

async function changeTenant(
  tx: Queryable,
  runtime: PlanRuntime,
  current: PresentState | undefined,
  { tenantId, decide }: { readonly tenantId: string; readonly decide: Decide },
): Promise<TenantChangeResult> {
  const decision = decide(current);
  if (decision === undefined) return { kind: 'stale' };
  const claimed = claimedValues(decision.plan);
  const taken = await takenValues(tx, tenantId, claimed, runtime);
  if (taken.length > 0) return { kind: 'taken', values: taken };
  await carryOut(tx, runtime, decision);
  // Each tenant has its own lock, so another may have taken a value meanwhile. The later one to append to the feed sees
  // it.
  if ((await takenValues(tx, tenantId, claimed, runtime)).length > 0) throw new TakenMeanwhile();
  return { kind: 'done', plan: decision.plan };
}

async function replacePasswordHash(
  database: Database,
  runtime: AuditRuntime,
  { tenantId, userId, from, to }: PasswordRenewal,
): Promise<boolean> {
  const event = 'auth.credential.rehashed';
  return database.transaction(async (tx) => {
    // A file that is being applied has read the former hash: it would put it back, and end every session for a new
    // password.
    await lockTenant(tx, tenantId, 'together');
    const { rowCount } = await tx.query({
      name: 'directory.replace_password_hash',
      text: `UPDATE directory.user_account
                SET password_hash = $4, updated_at = clock_timestamp(),
                    imported_hash = coalesce(imported_hash, sha256(convert_to($3, 'UTF8')))
              WHERE tenant_id = $1 AND user_id = $2 AND password_hash = $3`,
      values: [tenantId, userId, from, to],
    });
    if (rowCount === 0) return false;
    await insertAuditRows(tx, [{ event, outcome: 'success', tenantId, subject: userId }], runtime);
    return true;
  });
}

interface PasswordRow {
  readonly user_id: string;
  readonly username: string;
  readonly password_hash: string | null;
  readonly imported_hash: Uint8Array | null;
}
