import DataLoader from 'dataloader';
import { auditRow } from '@tessera/audit';
import type { Database, Queryable } from '@tessera/stores';
import type { Runtime } from '@tessera/process';
import type { NewKey } from './key-pair.ts';
import type { Activation, KeyStore, Origin, StoredKey, StoredState, Withdrawal } from './store.ts';

interface KeyRow {
  readonly tenant_id: string;
  readonly kid: string;
  readonly state: StoredState;
  readonly modulus: string;
  readonly exponent: string;
  readonly wrapped_private_key: string | null;
  readonly published_for: number;
  readonly active_for: number | null;
}

/** The statements on one table of keys. $1 is always the tenant, empty for the shared issuer; `load` takes several. */
function statementsOn(table: 'signing_key' | 'tenant_signing_key') {
  const statement = (name: string, text: string) => ({ name: `keys.${table}.${name}`, text });
  const keys = `keys.${table}`;
  return {
    load: statement(
      'load',
      `SELECT tenant_id, kid, state, modulus, exponent, wrapped_private_key,
         extract(epoch FROM clock_timestamp() - published_at)::float8 AS published_for,
         extract(epoch FROM clock_timestamp() - activated_at)::float8 AS active_for
       FROM ${keys}
       WHERE tenant_id = ANY($1::text[]) AND (state IN ('published', 'active')
         OR (state = 'retired' AND retired_at > clock_timestamp() - make_interval(secs => $2::float8)))
       ORDER BY published_at DESC, kid`,
    ),
    establish: statement(
      'establish',
      `INSERT INTO ${keys} (tenant_id, kid, state, modulus, exponent, wrapped_private_key, published_at, activated_at)
       VALUES ($1, $2, 'active', $3, $4, $5, clock_timestamp(), clock_timestamp())
       ON CONFLICT DO NOTHING`,
    ),
    // The condition sees the state at the start of the statement, the unique index that at its end. So no key is published too
    // early if another process activates one meanwhile.
    publish: statement(
      'publish',
      `INSERT INTO ${keys} (tenant_id, kid, state, modulus, exponent, wrapped_private_key, published_at)
       SELECT $1, $2, 'published', $3, $4, $5, clock_timestamp()
       WHERE EXISTS (
           SELECT FROM ${keys}
           WHERE tenant_id = $1 AND state = 'active'
             AND activated_at <= clock_timestamp() - make_interval(secs => $6::float8))
         AND NOT EXISTS (SELECT FROM ${keys} WHERE tenant_id = $1 AND state = 'published')
       ON CONFLICT DO NOTHING`,
    ),
    lockNext: statement(
      'lock_next',
      `SELECT kid FROM ${keys}
       WHERE tenant_id = $1 AND state = 'published'
         AND published_at <= clock_timestamp() - make_interval(secs => $2::float8)
       FOR UPDATE`,
    ),
    retire: statement(
      'retire',
      `UPDATE ${keys}
       SET state = 'retired', retired_at = clock_timestamp(), wrapped_private_key = NULL
       WHERE tenant_id = $1 AND state = 'active'
       RETURNING kid`,
    ),
    activate: statement(
      'activate',
      `UPDATE ${keys} SET state = 'active', activated_at = clock_timestamp()
       WHERE tenant_id = $1 AND kid = $2 AND state = 'published'`,
    ),
    withdraw: statement(
      'withdraw',
      `DELETE FROM ${keys} WHERE tenant_id = $1 AND kid = $2 AND state = 'retired'`,
    ),
    findState: statement('find_state', `SELECT state FROM ${keys} WHERE tenant_id = $1 AND kid = $2`),
  };
}

const shared = statementsOn('signing_key');
const ofTenants = statementsOn('tenant_signing_key');

const audit = {
  name: 'keys.audit',
  text: `INSERT INTO keys.audit_event (event_id, event, tenant_id, outcome, reason, record)
    VALUES ($1, $2, $3, $4, $5, $6::jsonb)`,
};

type AuditRuntime = Pick<Runtime, 'clock' | 'random'>;

/** The keys of one issuer: those of a tenant, or of the shared issuer if `tenantId` is empty. */
interface Ring {
  readonly tenantId: string;
  readonly statements: ReturnType<typeof statementsOn>;
  readonly runtime: AuditRuntime;
}

export interface KeyStoreOptions {
  readonly database: Database;
  readonly runtime: AuditRuntime;
  /** Seconds for which a retired key is still loaded. */
  readonly retention: number;
}

/** The key store of the shared issuer on Postgres or PGlite. */
export function postgresKeyStore(options: KeyStoreOptions): KeyStore {
  return keyStore(
    options.database,
    { tenantId: '', statements: shared, runtime: options.runtime },
    async () => {
      const [keys = []] = await loadAll(options, shared.load, ['']);
      return keys;
    },
  );
}

/** The key stores of tenants on Postgres or PGlite. Loads that are requested at the same time become one statement. */
export function postgresTenantKeyStores(options: KeyStoreOptions): (tenantId: string) => KeyStore {
  const loader = new DataLoader(
    (tenantIds: readonly string[]) => loadAll(options, ofTenants.load, tenantIds),
    { cache: false, maxBatchSize: 500 },
  );
  return (tenantId) =>
    keyStore(options.database, { tenantId, statements: ofTenants, runtime: options.runtime }, () =>
      loader.load(tenantId),
    );
}

/** The keys of several issuers, in the order of `tenantIds`. */
async function loadAll(
  { database, retention }: KeyStoreOptions,
  statement: { readonly name: string; readonly text: string },
  tenantIds: readonly string[],
): Promise<StoredKey[][]> {
  const { rows } = await database.query<KeyRow>({ ...statement, values: [tenantIds, retention] });
  const byTenant = Map.groupBy(rows, (row) => row.tenant_id);
  return tenantIds.map((tenantId) => (byTenant.get(tenantId) ?? []).map(storedKey));
}

function keyStore(database: Database, ring: Ring, load: KeyStore['load']): KeyStore {
  const { tenantId, statements } = ring;
  return {
    load,
    establish(key, origin) {
      return database.transaction(async (tx) => {
        const values = [tenantId, ...columns(key)];
        const { rowCount } = await tx.query({ ...statements.establish, values });
        if (rowCount === 0) return false;
        await record(tx, ring, ['key.generated', 'key.published', 'key.activated'], key.kid, origin);
        return true;
      });
    },
    publish(key, minimumActive, origin) {
      return database.transaction(async (tx) => {
        const values = [tenantId, ...columns(key), minimumActive];
        const { rowCount } = await tx.query({ ...statements.publish, values });
        if (rowCount === 0) return false;
        await record(tx, ring, ['key.generated', 'key.published'], key.kid, origin);
        return true;
      });
    },
    activate(minimumPublished, origin) {
      return database.transaction((tx) => activateNext(tx, ring, minimumPublished, origin));
    },
    withdraw(kid, origin) {
      return database.transaction(async (tx): Promise<Withdrawal> => {
        const { rowCount } = await tx.query({ ...statements.withdraw, values: [tenantId, kid] });
        if (rowCount === 0) {
          const found = await tx.query({ ...statements.findState, values: [tenantId, kid] });
          return found.rowCount === 0 ? 'unknown' : 'in_use';
        }
        await record(tx, ring, ['key.deleted'], kid, origin);
        return 'withdrawn';
      });
    },
  };
}

async function activateNext(
  tx: Queryable,
  ring: Ring,
  minimumPublished: number,
  origin: Origin,
): Promise<Activation | undefined> {
  const { tenantId, statements } = ring;
  const next = await tx.query<{ kid: string }>({
    ...statements.lockNext,
    values: [tenantId, minimumPublished],
  });
  const activated = next.rows[0]?.kid;
  if (activated === undefined) return undefined;
  const previous = await tx.query<{ kid: string }>({ ...statements.retire, values: [tenantId] });
  const retired = previous.rows[0]?.kid;
  if (retired === undefined) throw new Error('There is a next signing key but no active one.');
  await tx.query({ ...statements.activate, values: [tenantId, activated] });
  await record(tx, ring, ['key.retired'], retired, origin);
  await record(tx, ring, ['key.activated'], activated, origin);
  return { activated, retired };
}

async function record(
  tx: Queryable,
  { tenantId, runtime }: Ring,
  events: readonly string[],
  kid: string,
  origin: Origin,
): Promise<void> {
  const tenant = tenantId === '' ? {} : { tenantId };
  for (const event of events) {
    const row = auditRow({ ...origin, ...tenant, event, outcome: 'success', details: { kid } }, runtime);
    await tx.query({
      ...audit,
      values: [row.eventId, row.event, row.tenantId, row.outcome, row.reason, row.record],
    });
  }
}

function columns(key: NewKey): string[] {
  return [key.kid, key.modulus, key.exponent, key.wrappedPrivateKey];
}

function storedKey(row: KeyRow): StoredKey {
  return {
    kid: row.kid,
    state: row.state,
    modulus: row.modulus,
    exponent: row.exponent,
    wrappedPrivateKey: row.wrapped_private_key ?? undefined,
    publishedFor: row.published_for,
    activeFor: row.active_for ?? undefined,
  };
}
