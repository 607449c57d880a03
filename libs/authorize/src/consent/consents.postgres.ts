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
  /** When the person had signed in; seconds since the Unix epoch. */
  readonly signedInAt: number;
}

/** A consent in a list. */
export type ListedConsent = ConsentKey & Consent;

/** Whose consents: of these people, else of everybody in the tenant; or those for one application. */
export type ConsentScope = { readonly tenantId: string } & (
  { readonly userIds?: readonly string[] | undefined } | { readonly clientId: string }
);

/** Where a list goes on. */
export type ConsentPosition = Pick<ConsentKey, 'userId' | 'clientId'>;

/** Before all consents. */
export const firstConsent: ConsentPosition = { userId: '', clientId: '' };

/** What a person allows. */
export interface Allowed {
  readonly scopes: readonly string[];
  /** When the person had signed in: seconds since the Unix epoch; undefined: just now. */
  readonly signedInAt: number | undefined;
  /**
   * What was allowed before stays allowed if it is no older, nor the sign-in with which it was: seconds since the Unix
   * epoch.
   */
  readonly countsSince: { readonly consent: number; readonly signIn: number };
  /** The visit that asks. */
  readonly visit: Buffer;
}

export interface ConsentStore {
  find(key: ConsentKey): Promise<Consent | undefined>;
  /** Forgets what was allowed. A form of the same visit then allows nothing more, be it sent before or after. */
  deny(key: ConsentKey, visit: Buffer): Promise<void>;
  /** Forgets what was allowed, with the audit row in the same commit; false if there is no consent. */
  revoke(key: ConsentKey, audit: AuditRow): Promise<boolean>;
  /** In the order of the people, and of the client identifiers of each. */
  list(scope: ConsentScope, after: ConsentPosition, limit: number): Promise<ListedConsent[]>;
  /**
   * Adds to what was allowed, with the audit row in the same commit; false if the person has denied it in this visit.
   */
  allow(key: ConsentKey, allowed: Allowed, audit: AuditRow): Promise<boolean>;
}

interface ConsentRow {
  scopes: string[];
  granted: number;
  signed_in: number;
}

const columns = `scopes, extract(epoch FROM granted_at)::float8 AS granted,
    extract(epoch FROM coalesce(signed_in_at, granted_at))::float8 AS signed_in`;

const find = `
  SELECT ${columns} FROM authorize.consent
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

/** $1 tenant, $2 user and $3 application after which to continue, $4 limit */
const list = (whose: string) => `
  SELECT user_id, client_id, ${columns} FROM authorize.consent
  WHERE tenant_id = $1 AND granted_at > 'epoch' AND (user_id, client_id) > ($2::text, $3::text) ${whose}
  ORDER BY user_id, client_id LIMIT $4::int`;
const listOfTenant = list('');
/** $5 users */
const listOfPeople = list('AND user_id = ANY($5::text[])');
/** $1 tenant, $2 application, $3 user after whom to continue, $4 limit */
const listOfApplication = `
  SELECT user_id, client_id, ${columns} FROM authorize.consent
  WHERE tenant_id = $1 AND client_id = $2 AND granted_at > 'epoch' AND user_id > $3 ORDER BY user_id LIMIT $4::int`;

const allow = `
  WITH kept AS (
    INSERT INTO authorize.consent AS c (tenant_id, user_id, client_id, scopes, granted_at, signed_in_at)
    VALUES ($1, $2, $3, $4::text[], clock_timestamp(), coalesce(to_timestamp($8::float8), clock_timestamp()))
    ON CONFLICT (tenant_id, user_id, client_id) DO UPDATE SET
      scopes = CASE WHEN c.granted_at >= to_timestamp($5) AND coalesce(c.signed_in_at, c.granted_at) >= to_timestamp($9)
        THEN c.scopes || ARRAY (SELECT unnest(excluded.scopes) EXCEPT SELECT unnest(c.scopes))
        ELSE excluded.scopes END,
      granted_at = excluded.granted_at, signed_in_at = excluded.signed_in_at
    WHERE c.denied_visit IS DISTINCT FROM $6
    RETURNING client_id
  ), audited AS (${auditInsert('authorize', 'SELECT jsonb_array_elements($7::jsonb) FROM kept')})
  SELECT client_id FROM kept`;

/** Consents in Postgres or PGlite. */
export function createConsentStore(database: Database): ConsentStore {
  return {
    async find({ tenantId, userId, clientId }) {
      const { rows } = await database.query<ConsentRow>({
        name: 'authorize.find_consent',
        text: find,
        values: [tenantId, userId, clientId],
      });
      return rows[0] && toConsent(rows[0]);
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

    async list(scope, after, limit) {
      const { rows } = await database.query<ConsentRow & { user_id: string; client_id: string }>(
        statementOf(scope, after, limit),
      );
      return rows.map(({ user_id: userId, client_id: clientId, ...row }) => ({
        tenantId: scope.tenantId,
        userId,
        clientId,
        ...toConsent(row),
      }));
    },

    async allow({ tenantId, userId, clientId }, { scopes, signedInAt, countsSince, visit }, audit) {
      const allowed = [scopes, countsSince.consent, visit, auditRecords([audit])];
      const { rows } = await database.query({
        name: 'authorize.allow_consent',
        text: allow,
        values: [tenantId, userId, clientId, ...allowed, signedInAt ?? null, countsSince.signIn],
      });
      return rows.length > 0;
    },
  };
}

function statementOf({ tenantId, ...whose }: ConsentScope, after: ConsentPosition, limit: number) {
  if ('clientId' in whose) {
    const values = [tenantId, whose.clientId, after.userId, limit];
    return { name: 'authorize.consents_of_application', text: listOfApplication, values };
  }
  const values = [tenantId, after.userId, after.clientId, limit];
  return whose.userIds === undefined
    ? { name: 'authorize.consents_of_tenant', text: listOfTenant, values }
    : { name: 'authorize.consents_of_people', text: listOfPeople, values: [...values, whose.userIds] };
}

function toConsent({ scopes, granted, signed_in: signedInAt }: ConsentRow): Consent {
  return { scopes, grantedAt: granted, signedInAt };
}
