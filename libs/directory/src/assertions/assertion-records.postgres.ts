import { hash } from 'node:crypto';
import type { Database } from '@tessera/stores';
import type { Jwk } from '../applications/public-keys.ts';
import type { Trust } from '../applications/trusts.ts';

/** Of an application, what its assertions are verified with. */
export interface AssertedApplication {
  readonly clientId: string;
  readonly tenantId: string;
  /** Of its tenant; empty for the shared one. */
  readonly issuer: string;
  /** Of the application and its tenant. */
  readonly statuses: readonly string[];
  readonly publicKeys: readonly Jwk[];
  readonly jwksUri: string;
  readonly trusts: readonly Trust[];
  /** With `findTrusting`: of the trust that was found. */
  readonly trustedIssuer: string;
  readonly audience: string;
}

export interface AssertionRecords {
  /** Undefined if unknown. */
  findApplication(clientId: string): Promise<AssertedApplication | undefined>;
  /** The applications that trust a subject of one of these issuers, which none of ours is, for us or an audience. */
  findTrusting(issuers: readonly string[], subject: string, audience: string): Promise<AssertedApplication[]>;
  /** True for exactly one call with this `jti` of an application, until `expiresAt`, seconds since the Unix epoch. */
  use(clientId: string, jti: string, expiresAt: number): Promise<boolean>;
  /** Removes up to `limit` that have expired. Returns how many it removed. */
  purge(limit: number): Promise<number>;
}

const selected = `a.client_id AS "clientId", a.tenant_id AS "tenantId", t.issuer, a.public_keys AS "publicKeys",
  a.jwks_uri AS "jwksUri", a.trusts, ARRAY[a.status, t.status] AS statuses`;

/** In Postgres or PGlite. */
export function createAssertionRecords(database: Database): AssertionRecords {
  return {
    async findApplication(clientId) {
      const { rows } = await database.query<AssertedApplication>({
        name: 'directory.find_asserted_application',
        text: `SELECT ${selected}, '' AS "trustedIssuer", '' AS audience
                 FROM directory.application a JOIN directory.tenant t ON t.tenant_id = a.tenant_id
                WHERE a.client_id = $1`,
        values: [clientId],
      });
      return rows[0];
    },

    async findTrusting(issuers, subject, audience) {
      const { rows } = await database.query<AssertedApplication>({
        name: 'directory.find_trusting_applications',
        text: `SELECT ${selected}, s.issuer AS "trustedIssuer", s.audience
                 FROM directory.trusted_subject s
                 JOIN directory.application a ON a.tenant_id = s.tenant_id AND a.client_id = s.client_id
                 JOIN directory.tenant t ON t.tenant_id = a.tenant_id
                WHERE s.issuer = ANY($1::text[]) AND s.subject = $2 AND s.audience IN ('', $3)
                  -- Of at most one row, which an index finds; NOT EXISTS would read all tenants once.
                  AND (SELECT o.tenant_id FROM directory.tenant o WHERE o.issuer <> ''
                          AND split_part(o.issuer, '//', 2) = split_part(s.issuer, '//', 2)) IS NULL`,
        values: [issuers, subject, audience],
      });
      return rows;
    },

    async use(clientId, jti, expiresAt) {
      const digest = hash('sha256', JSON.stringify([clientId, jti]), 'buffer');
      const { rowCount } = await database.query({
        name: 'directory.use_assertion',
        text: `INSERT INTO directory.used_assertion (digest, expires_at) VALUES ($1, to_timestamp($2))
               ON CONFLICT (digest) DO NOTHING`,
        values: [digest, expiresAt],
      });
      return rowCount === 1;
    },

    async purge(limit) {
      const { rowCount } = await database.query({
        name: 'directory.purge_used_assertions',
        // Half a minute later than they expire by any clock that is right.
        text: `DELETE FROM directory.used_assertion WHERE digest IN (
                 SELECT digest FROM directory.used_assertion WHERE expires_at < statement_timestamp() - interval '1 minute'
                 ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
        values: [limit],
      });
      return rowCount;
    },
  };
}
