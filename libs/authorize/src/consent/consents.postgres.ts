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

/** What a person allows. */
export interface Allowed {
  readonly scopes: readonly string[];
  /** What was allowed before stays allowed if it is no older: seconds since the Unix epoch. */
  readonly countsSince: number;
  /** The visit that asks. */
  readonly visit: Buffer;
}

export interface ConsentStore {
  find(key: ConsentKey): Promise<Consent | undefined>;
  /** Forgets what was allowed. A form of the same visit then allows nothing more, be it sent before or after. */
  deny(key: ConsentKey, visit: Buffer): Promise<void>;
  /** Forgets what was allowed, with the audit row in the same commit; false if there is no consent. */
  revoke(key: ConsentKey, audit: AuditRow): Promise<boolean>;
  /** What a person has allowed, in the order of the client identifiers. */
  ofPerson(person: Omit<ConsentKey, 'clientId'>): Promise<(Consent & Pick<ConsentKey, 'clientId'>)[]>;
  /**
   * Adds to what was allowed, with the audit row in the same commit; false if the person has denied it in this visit.
   */
  allow(key: ConsentKey, allowed: Allowed, audit: AuditRow): Promise<boolean>;
}

const find = `
  SELECT scopes, extract(epoch FROM granted_at)::float8 AS granted FROM authorize.consent
  WHERE tenant_id = $1 AND user_id = $2 AND client_id = $3 AND granted_at > 'epoch'`;

/** A row of the epoch is a denial: for it and a consent to wait for each other, both need the same row. */
const deny = `
  INSERT INTO authorize.consent (tenant_id, user_id, client_id, scopes, granted_at, denied_visit)
  VALUES ($1, $2, $3, '{}', 'epoch', $4)
  ON CONFLICT (tenant_id, user_id, client_id)
    DO UPDATE SET scopes = '{}', granted_at = 'epoch', denied_visit = excluded.denied_visit`;

const revoke = `
  WITH gone AS (
    DELETE FROM authorize.consent WHERE tenant_id = $1 AND user_id = $2 AND client_id = $3 AND granted_at > 'epoch'
    RETURNING client_id
  ), audited AS (${auditInsert('authorize', 'SELECT jsonb_array_elements($4::jsonb) FROM gone')})
  SELECT client_id FROM gone`;

/** A person has few. */
const ofPerson = `
  SELECT client_id, scopes, extract(epoch FROM granted_at)::float8 AS granted FROM authorize.consent
  WHERE tenant_id = $1 AND user_id = $2 AND granted_at > 'epoch' ORDER BY client_id LIMIT 1000`;

const allow = `
  WITH kept AS (
    INSERT INTO authorize.consent AS c (tenant_id, user_id, client_id, scopes, granted_at)
    VALUES ($1, $2, $3, $4::text[], clock_timestamp())
    ON CONFLICT (tenant_id, user_id, client_id) DO UPDATE SET
      scopes = CASE WHEN c.granted_at >= to_timestamp($5)
        THEN c.scopes || ARRAY (SELECT unnest(excluded.scopes) EXCEPT SELECT unnest(c.scopes))
        ELSE excluded.scopes END,
      granted_at = excluded.granted_at
    WHERE c.denied_visit IS DISTINCT FROM $6
    RETURNING client_id
  ), audited AS (${auditInsert('authorize', 'SELECT jsonb_array_elements($7::jsonb) FROM kept')})
  SELECT client_id FROM kept`;

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

    async deny({ tenantId, userId, clientId }, visit) {
      await database.query({
        name: 'authorize.deny_consent',
        text: deny,
        values: [tenantId, userId, clientId, visit],
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

    async allow({ tenantId, userId, clientId }, { scopes, countsSince, visit }, audit) {
      const { rows } = await database.query({
        name: 'authorize.allow_consent',
        text: allow,
        values: [tenantId, userId, clientId, scopes, countsSince, visit, auditRecords([audit])],
      });
      return rows.length > 0;
    },
  };
}
