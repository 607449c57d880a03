import { createFeedStore } from '@tessera/stores';
import type { Database, RetainedFeedStore, Sequenced } from '@tessera/stores';

/** A session that was ended. */
export interface SessionEnd extends Sequenced {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly userId: string;
  /** Seconds since the Unix epoch. */
  readonly endedAt: number;
}

export type SessionEndStore = RetainedFeedStore<SessionEnd>;

interface SessionEndRow {
  readonly tenant_id: string;
  readonly session_id: string;
  readonly user_id: string;
}

/** The ends of sessions in Postgres or PGlite; the store of the sessions writes them together with the end itself. */
export function createSessionEndStore(database: Database): SessionEndStore {
  return createFeedStore<SessionEndRow, SessionEnd>(database, {
    schema: 'authorize',
    table: 'session_end',
    columns: 'tenant_id, session_id, user_id',
    read: (row) => ({
      sequence: row.sequence,
      tenantId: row.tenant_id,
      sessionId: row.session_id,
      userId: row.user_id,
      endedAt: row.recorded_at,
    }),
  });
}
