import { auditRow } from '@tessera/audit';
import type { Database, Queryable } from '@tessera/stores';
import type { Runtime } from '@tessera/process';
import type { NewKey } from './key-pair.ts';
import type { Activation, KeyStore, Origin, StoredKey, StoredState, Withdrawal } from './store.ts';

interface KeyRow {
  readonly kid: string;
  readonly state: StoredState;
  readonly modulus: string;
  readonly exponent: string;
  readonly wrapped_private_key: string | null;
  readonly published_for: number;
  readonly active_for: number | null;
}

const load = {
  name: 'keys.load',
  text: `SELECT kid, state, modulus, exponent, wrapped_private_key,
      extract(epoch FROM clock_timestamp() - published_at)::float8 AS published_for,
      extract(epoch FROM clock_timestamp() - activated_at)::float8 AS active_for
    FROM keys.signing_key
    WHERE state IN ('published', 'active')
      OR (state = 'retired' AND retired_at > clock_timestamp() - make_interval(secs => $1::float8))
    ORDER BY published_at DESC, kid`,
};

const establish = {
  name: 'keys.establish',
  text: `INSERT INTO keys.signing_key (kid, state, modulus, exponent, wrapped_private_key, published_at, activated_at)
    VALUES ($1, 'active', $2, $3, $4, clock_timestamp(), clock_timestamp())
    ON CONFLICT DO NOTHING`,
};

// The condition sees the state at the start of the statement, the unique index that at its end. So no key is published too
// early if another process activates one meanwhile.
const publish = {
  name: 'keys.publish',
  text: `INSERT INTO keys.signing_key (kid, state, modulus, exponent, wrapped_private_key, published_at)
    SELECT $1, 'published', $2, $3, $4, clock_timestamp()
    WHERE EXISTS (
        SELECT FROM keys.signing_key
        WHERE state = 'active' AND activated_at <= clock_timestamp() - make_interval(secs => $5::float8))
      AND NOT EXISTS (SELECT FROM keys.signing_key WHERE state = 'published')
    ON CONFLICT DO NOTHING`,
};

const lockNext = {
  name: 'keys.lock_next',
  text: `SELECT kid FROM keys.signing_key
    WHERE state = 'published' AND published_at <= clock_timestamp() - make_interval(secs => $1::float8)
    FOR UPDATE`,
};

const retire = {
  name: 'keys.retire',
  text: `UPDATE keys.signing_key
    SET state = 'retired', retired_at = clock_timestamp(), wrapped_private_key = NULL
    WHERE state = 'active'
    RETURNING kid`,
};

const activate = {
  name: 'keys.activate',
  text: `UPDATE keys.signing_key SET state = 'active', activated_at = clock_timestamp()
    WHERE kid = $1 AND state = 'published'`,
};

const withdraw = {
  name: 'keys.withdraw',
  text: `DELETE FROM keys.signing_key WHERE kid = $1 AND state = 'retired'`,
};

const findState = {
  name: 'keys.find_state',
  text: 'SELECT state FROM keys.signing_key WHERE kid = $1',
};

const audit = {
  name: 'keys.audit',
  text: `INSERT INTO keys.audit_event (event_id, event, tenant_id, outcome, reason, record)
    VALUES ($1, $2, $3, $4, $5, $6::jsonb)`,
};

type AuditRuntime = Pick<Runtime, 'clock' | 'random'>;

/** The key store on Postgres or PGlite. */
export function postgresKeyStore(database: Database, runtime: AuditRuntime): KeyStore {
  return {
    async load(retention) {
      const { rows } = await database.query<KeyRow>({ ...load, values: [retention] });
      return rows.map(storedKey);
    },
    establish(key, origin) {
      return database.transaction(async (tx) => {
        const { rowCount } = await tx.query({ ...establish, values: columns(key) });
        if (rowCount === 0) return false;
        await record(tx, runtime, ['key.generated', 'key.published', 'key.activated'], key.kid, origin);
        return true;
      });
    },
    publish(key, minimumActive, origin) {
      return database.transaction(async (tx) => {
        const { rowCount } = await tx.query({ ...publish, values: [...columns(key), minimumActive] });
        if (rowCount === 0) return false;
        await record(tx, runtime, ['key.generated', 'key.published'], key.kid, origin);
        return true;
      });
    },
    activate(minimumPublished, origin) {
      return database.transaction((tx) => activateNext(tx, runtime, minimumPublished, origin));
    },
    withdraw(kid, origin) {
      return database.transaction(async (tx): Promise<Withdrawal> => {
        const { rowCount } = await tx.query({ ...withdraw, values: [kid] });
        if (rowCount === 0) {
          const found = await tx.query({ ...findState, values: [kid] });
          return found.rowCount === 0 ? 'unknown' : 'in_use';
        }
        await record(tx, runtime, ['key.deleted'], kid, origin);
        return 'withdrawn';
      });
    },
  };
}

async function activateNext(
  tx: Queryable,
  runtime: AuditRuntime,
  minimumPublished: number,
  origin: Origin,
): Promise<Activation | undefined> {
  const next = await tx.query<{ kid: string }>({ ...lockNext, values: [minimumPublished] });
  const activated = next.rows[0]?.kid;
  if (activated === undefined) return undefined;
  const previous = await tx.query<{ kid: string }>(retire);
  const retired = previous.rows[0]?.kid;
  if (retired === undefined) throw new Error('There is a next signing key but no active one.');
  await tx.query({ ...activate, values: [activated] });
  await record(tx, runtime, ['key.retired'], retired, origin);
  await record(tx, runtime, ['key.activated'], activated, origin);
  return { activated, retired };
}

async function record(
  tx: Queryable,
  runtime: AuditRuntime,
  events: readonly string[],
  kid: string,
  origin: Origin,
): Promise<void> {
  for (const event of events) {
    const row = auditRow({ ...origin, event, outcome: 'success', details: { kid } }, runtime);
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
