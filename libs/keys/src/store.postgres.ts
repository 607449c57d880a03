import DataLoader from 'dataloader';
import { auditInsert, auditRecords, auditRow } from '@tessera/audit';
import { isSigningAlgorithm, type SigningAlgorithmName } from '@tessera/oauth';
import type { Database, Queryable } from '@tessera/stores';
import type { Runtime } from '@tessera/process';
import type { Activation, KeyStore, NewKey, Origin, StoredKey, StoredState, Withdrawal } from './store.ts';

interface KeyRow {
  readonly tenant_id: string;
  readonly algorithm: string;
  readonly kid: string;
  readonly state: StoredState;
  readonly public_members: Readonly<Record<string, string>>;
  readonly wrapped_private_key: string | null;
  readonly published_for: number;
  readonly active_for: number | null;
  readonly times: {
    readonly published: number;
    readonly activated: number | null;
    readonly retired: number | null;
  };
}

/** How each table holds the public members: as one JSON value, read from it and written to it. */
const rsaKey = {
  read: `jsonb_build_object('n', modulus, 'e', exponent)`,
  columns: 'modulus, exponent',
  values: `$4::jsonb ->> 'n', $4::jsonb ->> 'e'`,
};
const publicMembersIn = {
  signing_key: rsaKey,
  tenant_signing_key: rsaKey,
  algorithm_signing_key: { read: 'public_members', columns: 'public_members', values: '$4::jsonb' },
};
type Table = keyof typeof publicMembersIn;

interface Statement {
  readonly name: string;
  readonly text: string;
}

/**
 * The keys of several issuers, the tenants $1, from the table that has theirs for RS256 and the one for the other
 * algorithms.
 */
function loadFrom(table: 'signing_key' | 'tenant_signing_key'): Statement {
  const part = (
    from: Table,
  ) => `SELECT tenant_id, algorithm, kid, state, ${publicMembersIn[from].read} AS public_members,
         wrapped_private_key, published_at,
         extract(epoch FROM clock_timestamp() - published_at)::float8 AS published_for,
         extract(epoch FROM clock_timestamp() - activated_at)::float8 AS active_for,
         jsonb_build_object('published', round(extract(epoch FROM published_at) * 1000),
           'activated', round(extract(epoch FROM activated_at) * 1000),
           'retired', round(extract(epoch FROM retired_at) * 1000)) AS times
       FROM keys.${from}
       WHERE tenant_id = ANY($1::text[]) AND (state IN ('published', 'active')
         OR (state = 'retired' AND retired_at > clock_timestamp() - make_interval(secs => $2::float8)))`;
  return {
    name: `keys.${table}.load`,
    text: `${part(table)} UNION ALL ${part('algorithm_signing_key')} ORDER BY published_at DESC, kid`,
  };
}

/**
 * The statements on one table of keys. $1 is always the tenant, empty for the shared issuer, and $2 the algorithm of
 * the ring.
 */
function statementsOn(table: Table) {
  const statement = (name: string, text: string): Statement => ({ name: `keys.${table}.${name}`, text });
  const keys = `keys.${table}`;
  const { columns, values } = publicMembersIn[table];
  return {
    establish: statement(
      'establish',
      `INSERT INTO ${keys} (tenant_id, algorithm, kid, state, ${columns}, wrapped_private_key, published_at, activated_at)
       VALUES ($1, $2, $3, 'active', ${values}, $5, clock_timestamp(), clock_timestamp())
       ON CONFLICT DO NOTHING`,
    ),
    // The condition sees the state at the start of the statement, the unique index that at its end. So no key is
    // published too early if another process activates one meanwhile.
    publish: statement(
      'publish',
      `INSERT INTO ${keys} (tenant_id, algorithm, kid, state, ${columns}, wrapped_private_key, published_at)
       SELECT $1, $2, $3, 'published', ${values}, $5, clock_timestamp()
       WHERE EXISTS (
           SELECT FROM ${keys}
           WHERE tenant_id = $1 AND algorithm = $2 AND state = 'active'
             AND activated_at <= clock_timestamp() - make_interval(secs => $6::float8))
         AND NOT EXISTS (
           SELECT FROM ${keys} WHERE tenant_id = $1 AND algorithm = $2 AND state = 'published')
       ON CONFLICT DO NOTHING`,
    ),
    lockNext: statement(
      'lock_next',
      `SELECT kid FROM ${keys}
       WHERE tenant_id = $1 AND algorithm = $2 AND state = 'published'
         AND published_at <= clock_timestamp() - make_interval(secs => $3::float8)
       FOR UPDATE`,
    ),
    retire: statement(
      'retire',
      `UPDATE ${keys}
       SET state = 'retired', retired_at = clock_timestamp(), wrapped_private_key = NULL
       WHERE tenant_id = $1 AND algorithm = $2 AND state = 'active'
       RETURNING kid`,
    ),
    activate: statement(
      'activate',
      `UPDATE ${keys} SET state = 'active', activated_at = clock_timestamp()
       WHERE tenant_id = $1 AND algorithm = $2 AND kid = $3 AND state = 'published'`,
    ),
    withdraw: statement(
      'withdraw',
      `DELETE FROM ${keys} WHERE tenant_id = $1 AND kid = $2 AND state = 'retired'`,
    ),
    findState: statement('find_state', `SELECT state FROM ${keys} WHERE tenant_id = $1 AND kid = $2`),
  };
}

type Statements = ReturnType<typeof statementsOn>;

const loadShared = loadFrom('signing_key');
const loadOfTenants = loadFrom('tenant_signing_key');
const ofShared = statementsOn('signing_key');
const ofTenants = statementsOn('tenant_signing_key');
const ofOtherAlgorithms = statementsOn('algorithm_signing_key');

const audit = {
  name: 'keys.audit',
  text: auditInsert('keys', 'SELECT jsonb_array_elements($1::jsonb)'),
};

type AuditRuntime = Pick<Runtime, 'clock' | 'random'>;

/** Whose keys: those of a tenant, or of the shared issuer if `tenantId` is empty. */
interface Issuer {
  readonly tenantId: string;
  /** On the table of its keys for RS256. */
  readonly statements: Statements;
  readonly runtime: AuditRuntime;
}

export interface KeyStoreDeps {
  readonly database: Database;
  readonly runtime: AuditRuntime;
  /** Seconds for which a retired key is still loaded. */
  readonly retention: number;
}

/** The key store of the shared issuer on Postgres or PGlite. */
export function postgresKeyStore(deps: KeyStoreDeps): KeyStore {
  return keyStore(deps.database, { tenantId: '', statements: ofShared, runtime: deps.runtime }, async () => {
    const [keys = []] = await loadAll(deps, loadShared, ['']);
    return keys;
  });
}

/** The key stores of tenants on Postgres or PGlite. Loads that are requested at the same time become one statement. */
export function postgresTenantKeyStores(deps: KeyStoreDeps): (tenantId: string) => KeyStore {
  const loader = new DataLoader((tenantIds: readonly string[]) => loadAll(deps, loadOfTenants, tenantIds), {
    cache: false,
    maxBatchSize: 500,
  });
  return (tenantId) =>
    keyStore(deps.database, { tenantId, statements: ofTenants, runtime: deps.runtime }, () =>
      loader.load(tenantId),
    );
}

/** The keys of several issuers, in the order of `tenantIds`. */
async function loadAll(
  { database, retention }: KeyStoreDeps,
  statement: Statement,
  tenantIds: readonly string[],
): Promise<StoredKey[][]> {
  const { rows } = await database.query<KeyRow>({ ...statement, values: [tenantIds, retention] });
  const byTenant = Map.groupBy(rows, (row) => row.tenant_id);
  return tenantIds.map((tenantId) => (byTenant.get(tenantId) ?? []).flatMap(storedKey));
}

function keyStore(database: Database, issuer: Issuer, load: KeyStore['load']): KeyStore {
  return {
    load,
    establish(key, origin) {
      return database.transaction(async (tx) => {
        const { establish } = statementsFor(issuer, key.algorithm);
        const { rowCount } = await tx.query({ ...establish, values: columns(issuer, key) });
        if (rowCount === 0) return false;
        await record(tx, issuer, ['key.generated', 'key.published', 'key.activated'], key.kid, origin);
        return true;
      });
    },
    publish(key, minimumActive, origin) {
      return database.transaction(async (tx) => {
        const { publish } = statementsFor(issuer, key.algorithm);
        const { rowCount } = await tx.query({ ...publish, values: [...columns(issuer, key), minimumActive] });
        if (rowCount === 0) return false;
        await record(tx, issuer, ['key.generated', 'key.published'], key.kid, origin);
        return true;
      });
    },
    activate(algorithm, minimumPublished, origin) {
      return database.transaction((tx) => activateNext(tx, issuer, algorithm, minimumPublished, origin));
    },
    withdraw(kid, origin) {
      return database.transaction((tx) => withdrawRetired(tx, issuer, kid, origin));
    },
  };
}

function statementsFor({ statements }: Issuer, algorithm: SigningAlgorithmName): Statements {
  return algorithm === 'RS256' ? statements : ofOtherAlgorithms;
}

async function activateNext(
  tx: Queryable,
  issuer: Issuer,
  algorithm: SigningAlgorithmName,
  minimumPublished: number,
  origin: Origin,
): Promise<Activation | undefined> {
  const statements = statementsFor(issuer, algorithm);
  const ring = [issuer.tenantId, algorithm];
  const next = await tx.query<{ kid: string }>({
    ...statements.lockNext,
    values: [...ring, minimumPublished],
  });
  const activated = next.rows[0]?.kid;
  if (activated === undefined) return undefined;
  const previous = await tx.query<{ kid: string }>({ ...statements.retire, values: ring });
  const retired = previous.rows[0]?.kid;
  if (retired === undefined) throw new Error('There is a next signing key but no active one.');
  await tx.query({ ...statements.activate, values: [...ring, activated] });
  await record(tx, issuer, ['key.retired'], retired, origin);
  await record(tx, issuer, ['key.activated'], activated, origin);
  return { activated, retired };
}

async function withdrawRetired(
  tx: Queryable,
  issuer: Issuer,
  kid: string,
  origin: Origin,
): Promise<Withdrawal> {
  const values = [issuer.tenantId, kid];
  for (const { withdraw, findState } of [issuer.statements, ofOtherAlgorithms]) {
    const { rowCount } = await tx.query({ ...withdraw, values });
    if (rowCount > 0) {
      await record(tx, issuer, ['key.deleted'], kid, origin);
      return 'withdrawn';
    }
    const found = await tx.query({ ...findState, values });
    if (found.rowCount > 0) return 'in_use';
  }
  return 'unknown';
}

async function record(
  tx: Queryable,
  { tenantId, runtime }: Issuer,
  events: readonly string[],
  kid: string,
  origin: Origin,
): Promise<void> {
  const tenant = tenantId === '' ? {} : { tenantId };
  const rows = events.map((event) =>
    auditRow({ ...origin, ...tenant, event, outcome: 'success', details: { kid } }, runtime),
  );
  await tx.query({ ...audit, values: [auditRecords(rows)] });
}

function columns({ tenantId }: Issuer, key: NewKey): string[] {
  const { algorithm, kid, publicMembers, wrappedPrivateKey } = key;
  return [tenantId, algorithm, kid, JSON.stringify(publicMembers), wrappedPrivateKey];
}

/** Nothing for a key of an algorithm that a newer version has brought. */
function storedKey({ algorithm, ...row }: KeyRow): StoredKey[] {
  if (!isSigningAlgorithm(algorithm)) return [];
  return [
    {
      kid: row.kid,
      algorithm,
      state: row.state,
      publicMembers: row.public_members,
      wrappedPrivateKey: row.wrapped_private_key ?? undefined,
      publishedFor: row.published_for,
      activeFor: row.active_for ?? undefined,
      publishedAt: row.times.published,
      activatedAt: row.times.activated ?? undefined,
      retiredAt: row.times.retired ?? undefined,
    },
  ];
}
