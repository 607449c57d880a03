import { createFeedStore } from '@tessera/stores';
import type { Database } from '@tessera/stores';
import type { RecordedRevocation, RevocationStore } from './store.ts';

interface RevocationRow {
  readonly tenant_id: string;
  readonly family_id: string;
  readonly client_id: string;
  readonly user_id: string;
  readonly session_id: string;
  readonly resource: string;
  readonly token_id: string | null;
}

const revokedTokensSql = `
  SELECT token_id FROM token.revocation
  WHERE token_id IS NOT NULL AND recorded_at > statement_timestamp() - interval '1 day'`;

/**
 * The feed of revoked families and access tokens on Postgres or PGlite. The statements that revoke write its entries.
 */
export function createRevocationStore(database: Database): RevocationStore {
  const feed = createFeedStore<RevocationRow, RecordedRevocation>(database, {
    schema: 'token',
    table: 'revocation',
    columns: 'tenant_id, family_id::text AS family_id, client_id, user_id, session_id, resource, token_id',
    read: (row) => ({
      sequence: row.sequence,
      tenantId: row.tenant_id,
      familyId: row.family_id,
      clientId: row.client_id,
      userId: row.user_id,
      sessionId: row.session_id,
      resource: row.resource,
      endedAt: row.recorded_at,
      tokenId: row.token_id ?? '',
    }),
  });
  return {
    ...feed,
    async revokedAccessTokens() {
      const query = { name: 'token.revocation_access_tokens', text: revokedTokensSql };
      const { rows } = await database.query<{ token_id: string }>(query);
      return rows.map((row) => row.token_id);
    },
  };
}
