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
}

/** The feed of revoked families on Postgres or PGlite. The statements that revoke write its entries. */
export function createRevocationStore(database: Database): RevocationStore {
  return createFeedStore<RevocationRow, RecordedRevocation>(database, {
    schema: 'token',
    table: 'revocation',
    columns: 'tenant_id, family_id::text AS family_id, client_id, user_id, session_id, resource',
    read: (row) => ({
      sequence: row.sequence,
      tenantId: row.tenant_id,
      familyId: row.family_id,
      clientId: row.client_id,
      userId: row.user_id,
      sessionId: row.session_id,
      resource: row.resource,
      endedAt: row.recorded_at,
    }),
  });
}
