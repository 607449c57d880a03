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
  /** As `remove`, with the audit row in the same commit; false if there is no consent. */
  revoke(key: ConsentKey, audit: AuditRow): Promise<boolean>;
  /** What a person has allowed, in the order of the client identifiers. */
  ofPerson(person: Omit<ConsentKey, 'clientId'>): Promise<(Consent & Pick<ConsentKey, 'clientId'>)[]>;
  /** Replaces what was allowed before, with the audit row in the same commit. */
  save(key: ConsentKey, scopes: readonly string[], audit: AuditRow): Promise<void>;
}

const find = `
  SELECT scopes, extract(epoch FROM granted_at)::float8 AS granted FROM authorize.consent
  WHERE tenant_id = $1 AND user_id = $2 AND client_id = $3`;

const remove = `
  DELETE FROM authorize.consent WHERE tenant_id = $1 AND user_id = $2 AND client_id = $3`;

const revoke = `
  WITH gone AS (
    DELETE FROM authorize.consent WHERE tenant_id = $1 AND user_id = $2 AND client_id = $3 RETURNING client_id
  ), audited AS (${auditInsert('authorize', 'SELECT jsonb_array_elements($4::jsonb) FROM gone')})
  SELECT client_id FROM gone`;

/** A person has few. */
const ofPerson = `
  SELECT client_id, scopes, extract(epoch FROM granted_at)::float8 AS granted FROM authorize.consent
  WHERE tenant_id = $1 AND user_id = $2 ORDER BY client_id LIMIT 1000`;

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

    async revoke({ tenantId, userId, clientId }, audit) {
      const { rows } = await database.query({
        name: 'authorize.revoke_consent',
        text: revoke,
        values: [tenantId, userId, clientId, auditRecords([audit])],
      });
      return rows.length > 0;
    },

    async ofPerson({ tenantId, userId }) {
      const { rows } = await database.query<{ client_id: string; scopes: string[]; granted: number }>({
        name: 'authorize.consents_of_person',
        text: ofPerson,
        values: [tenantId, userId],
      });
      return rows.map(({ client_id: clientId, scopes, granted }) => ({
        clientId,
        scopes,
        grantedAt: granted,
      }));
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
