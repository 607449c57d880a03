import { auditInsert, auditRecords, type AuditRow } from '@tessera/audit';
import type { Database } from '@tessera/stores';

/** Whose consent, to which application. */
export interface ConsentKey {
  readonly tenantId: string;
  readonly userId: string;
  readonly clientId: string;
}

/** What a person has allowed an application. */
export interface Consent {
  readonly scopes: readonly string[];
  /** Seconds since the Unix epoch, by the database's clock. */
  readonly grantedAt: number;
}

export interface ConsentStore {
  find(key: ConsentKey): Promise<Consent | undefined>;
  remove(key: ConsentKey): Promise<void>;
  /** Replaces what was allowed before, with the audit row in the same commit. */
  save(key: ConsentKey, scopes: readonly string[], audit: AuditRow): Promise<void>;
}

const find = `
  SELECT scopes, extract(epoch FROM granted_at)::float8 AS granted FROM authorize.consent
  WHERE tenant_id = $1 AND user_id = $2 AND client_id = $3`;

const remove = `
  DELETE FROM authorize.consent WHERE tenant_id = $1 AND user_id = $2 AND client_id = $3`;

const save = `
  WITH kept AS (
    INSERT INTO authorize.consent (tenant_id, user_id, client_id, scopes, granted_at)
    VALUES ($1, $2, $3, $4::text[], clock_timestamp())
    ON CONFLICT (tenant_id, user_id, client_id)
      DO UPDATE SET scopes = excluded.scopes, granted_at = excluded.granted_at
  )
  ${auditInsert('authorize', 'SELECT jsonb_array_elements($5::jsonb)')}`;

/** Consents in Postgres or PGlite. */
export function createConsentStore(database: Database): ConsentStore {
  return {
    async find({ tenantId, userId, clientId }) {
      const { rows } = await database.query<{ scopes: string[]; granted: number }>({
        name: 'authorize.find_consent',
        text: find,
        values: [tenantId, userId, clientId],
      });
      return rows[0] && { scopes: rows[0].scopes, grantedAt: rows[0].granted };
    },

    async remove({ tenantId, userId, clientId }) {
      await database.query({
        name: 'authorize.remove_consent',
        text: remove,
        values: [tenantId, userId, clientId],
      });
    },

    async save({ tenantId, userId, clientId }, scopes, audit) {
      await database.query({
        name: 'authorize.save_consent',
        text: save,
        values: [tenantId, userId, clientId, scopes, auditRecords([audit])],
      });
    },
  };
}
