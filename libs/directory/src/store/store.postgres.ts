import type { Database } from '@tessera/stores';
import { findApplication, findSecrets, listSecrets, noteSecretUses } from '../applications/read.postgres.ts';
import { tenantColumns, tenantOf, userColumns, userOf, type TenantRow, type UserRow } from './rows.ts';
import type { TenantRecord } from './records.ts';
import type { ChangeStore, DirectoryStore, FoundUser, SequencedChange } from './store.ts';

interface ValidFromRow {
  readonly valid_from: number;
}

type FoundUserRow = UserRow & TenantRow & ValidFromRow & { readonly updated_at: number };

const userTimes = `greatest(u.valid_from, t.valid_from)::float8 AS valid_from,
  floor(extract(epoch FROM u.updated_at))::float8 AS updated_at`;

/** The durable records in Postgres or PGlite. Texts with a NUL byte match nothing: the engines cannot hold them. */
export function createDirectoryStore(database: Database): DirectoryStore {
  return {
    findTenant: async (tenantId) => (isStorable(tenantId) ? findTenant(database, tenantId) : undefined),
    tenantIssuers: () => tenantIssuers(database),
    findApplication: async (clientId) =>
      isStorable(clientId) ? findApplication(database, clientId) : undefined,
    findSecrets: async (clientId) => (isStorable(clientId) ? findSecrets(database, clientId) : undefined),
    listSecrets: async (clientId) => (isStorable(clientId) ? listSecrets(database, clientId) : undefined),
    findUser: async (tenantId, userId) =>
      isStorable(tenantId + userId) ? findUser(database, tenantId, userId) : undefined,
    findUserByIdentifier: async (tenantId, identifier) =>
      isStorable(tenantId + identifier) ? findUserByIdentifier(database, tenantId, identifier) : undefined,
    confirmSignIn: (tenantId, userId, passwordHash) =>
      confirmSignIn(database, tenantId, userId, passwordHash),
    somePasswordHash: async (tenantId, position) =>
      isStorable(tenantId) ? somePasswordHash(database, tenantId, position) : undefined,
    noteSecretUses: (uses) => noteSecretUses(database, uses),
  };
}

async function findTenant(database: Database, tenantId: string): Promise<TenantRecord | undefined> {
  const { rows } = await database.query<TenantRow>({
    name: 'directory.find_tenant',
    text: `SELECT ${tenantColumns} FROM directory.tenant t WHERE t.tenant_id = $1`,
    values: [tenantId],
  });
  return rows[0] && tenantOf(rows[0]);
}

async function tenantIssuers(database: Database): Promise<{ tenantId: string; issuer: string }[]> {
  const { rows } = await database.query<{ tenant_id: string; issuer: string }>({
    name: 'directory.tenant_issuers',
    text: `SELECT tenant_id, issuer FROM directory.tenant WHERE issuer <> '' ORDER BY tenant_id`,
  });
  return rows.map((row) => ({ tenantId: row.tenant_id, issuer: row.issuer }));
}

async function findUser(
  database: Database,
  tenantId: string,
  userId: string,
): Promise<FoundUser | undefined> {
  const { rows } = await database.query<FoundUserRow>({
    name: 'directory.find_user',
    text: `SELECT ${tenantColumns}, ${userColumns}, ${userTimes}
             FROM directory.user_account u JOIN directory.tenant t ON t.tenant_id = u.tenant_id
            WHERE u.tenant_id = $1 AND u.user_id = $2`,
    values: [tenantId, userId],
  });
  return foundUser(rows);
}

async function findUserByIdentifier(
  database: Database,
  tenantId: string,
  identifier: string,
): Promise<FoundUser | undefined> {
  const { rows } = await database.query<FoundUserRow>({
    name: 'directory.find_user_by_identifier',
    text: `SELECT ${tenantColumns}, ${userColumns}, ${userTimes}
             FROM directory.user_identifier i
             JOIN directory.user_account u ON u.tenant_id = i.tenant_id AND u.user_id = i.user_id
             JOIN directory.tenant t ON t.tenant_id = i.tenant_id
            WHERE i.tenant_id = $1 AND i.identifier = $2`,
    values: [tenantId, identifier],
  });
  return foundUser(rows);
}

/** The share lock waits for a change that is under way, and a change that comes later is dated after it. */
async function confirmSignIn(
  database: Database,
  tenantId: string,
  userId: string,
  passwordHash: string,
): Promise<number | undefined> {
  const { rows } = await database.query<{ signed_in_at: number }>({
    name: 'directory.confirm_sign_in',
    text: `SELECT greatest(u.valid_from * 1000, t.valid_from * 1000,
                           floor(extract(epoch FROM clock_timestamp()) * 1000))::float8 AS signed_in_at
             FROM directory.user_account u JOIN directory.tenant t ON t.tenant_id = u.tenant_id
            WHERE u.tenant_id = $1 AND u.user_id = $2 AND u.password_hash = $3
              AND u.status = 'active' AND t.status = 'active'
              FOR SHARE`,
    values: [tenantId, userId, passwordHash],
  });
  return rows[0]?.signed_in_at;
}

async function somePasswordHash(
  database: Database,
  tenantId: string,
  position: string,
): Promise<string | undefined> {
  const from = (condition: string) => `(
    SELECT password_hash FROM directory.user_account
     WHERE tenant_id = $1 AND password_hash IS NOT NULL AND ${condition} ORDER BY user_id LIMIT 1)`;
  const { rows } = await database.query<{ password_hash: string }>({
    name: 'directory.some_password_hash',
    text: `${from('user_id > $2')} UNION ALL ${from('user_id <= $2')} LIMIT 1`,
    values: [tenantId, position],
  });
  return rows[0]?.password_hash;
}

export function createChangeStore(database: Database): ChangeStore {
  return {
    async newestChange() {
      const { rows } = await database.query<{ sequence: number }>({
        name: 'directory.newest_change',
        text: 'SELECT coalesce(max(sequence), 0) AS sequence FROM directory.change',
      });
      return rows[0]?.sequence ?? 0;
    },

    // Old rows go from the oldest, so nothing is missing behind the position before the oldest one on record.
    async canResumeAfter(sequence) {
      const { rows } = await database.query<{ resumable: boolean | null }>({
        name: 'directory.can_resume_after',
        text: 'SELECT $1::numeric BETWEEN min(sequence) - 1 AND max(sequence) AS resumable FROM directory.change',
        values: [sequence],
      });
      return rows[0]?.resumable ?? false;
    },

    async positionBefore(seconds) {
      const { rows } = await database.query<{ sequence: number }>({
        name: 'directory.changes_before',
        text: `SELECT coalesce(
                 (SELECT sequence - 1 FROM directory.change WHERE recorded_at >= to_timestamp(LEAST($1::float8, 253370764800))
                   ORDER BY recorded_at, sequence LIMIT 1),
                 (SELECT max(sequence) FROM directory.change), 0) AS sequence`,
        values: [seconds],
      });
      return rows[0]?.sequence ?? 0;
    },

    async changesAfter(sequence, limit) {
      const { rows } = await database.query<SequencedChange & { tenant_id: string; recorded_at: number }>({
        name: 'directory.changes_after',
        text: `SELECT sequence, kind, tenant_id, id, ended,
                      floor(extract(epoch FROM recorded_at))::float8 AS recorded_at
                 FROM directory.change
                WHERE sequence > $1 ORDER BY sequence LIMIT $2`,
        values: [sequence, limit],
      });
      return rows.map((row) => ({
        sequence: row.sequence,
        kind: row.kind,
        tenantId: row.tenant_id,
        id: row.id,
        ended: row.ended,
        recordedAt: row.recorded_at,
      }));
    },
  };
}

function foundUser([row]: readonly FoundUserRow[]): FoundUser | undefined {
  if (row === undefined) return undefined;
  return { user: userOf(row), updatedAt: row.updated_at, tenant: tenantOf(row), validFrom: row.valid_from };
}

function isStorable(text: string): boolean {
  return !text.includes('\0');
}
