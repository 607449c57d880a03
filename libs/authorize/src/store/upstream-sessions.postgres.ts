import type { Database, Queryable } from '@tessera/stores';
import { createSessionStore } from './session-store.postgres.ts';
import type { EndingSession, IdentifiedSession, SessionId } from './session-store.ts';

/** What a provider says is over: a session there or, without `sid`, all of a person. */
export interface EndedUpstream {
  readonly tenantId: string;
  readonly provider: string;
  readonly issuer: string;
  readonly sid?: string | undefined;
  readonly subject?: string | undefined;
}

/** The sessions that were made with a provider. */
export interface UpstreamSessions {
  /**
   * Ends those made with what is over, all or none of them, and returns them. A session that is not known by a `sid`
   * may be any of its person. Undefined, without an effect, unless `isFirst`, which runs in the same transaction;
   * `before` runs before the commit.
   */
  end(
    over: EndedUpstream,
    how: {
      readonly isFirst: (tx: Queryable) => Promise<boolean>;
      readonly ending: (session: IdentifiedSession) => EndingSession;
      readonly before: (session: IdentifiedSession) => Promise<unknown>;
    },
  ): Promise<IdentifiedSession[] | undefined>;
}

const page = 100;

const made = `
  SELECT tenant_id, session_id FROM authorize.session
  WHERE tenant_id = $1 AND upstream ->> 'provider' = $2 AND upstream ->> 'issuer' = $3
    AND ended_at IS NULL AND upstream IS NOT NULL`;

/** $4 sid, $5 subject or null, $6 limit */
const ofSession = `${made} AND upstream ->> 'sid' = $4 AND ($5::text IS NULL OR upstream ->> 'subject' = $5) LIMIT $6::int`;

/** $4 subject, $5 whether those with a sid are others, $6 limit */
const ofSubject = `${made} AND upstream ->> 'subject' = $4 AND NOT ($5::boolean AND upstream ? 'sid') LIMIT $6::int`;

/** Sessions in Postgres or PGlite. */
export function createUpstreamSessions(database: Database): UpstreamSessions {
  return {
    end: async (over, { isFirst, ending, before }) =>
      database.transaction(async (tx) => {
        if (!(await isFirst(tx))) return undefined;
        const store = createSessionStore(tx);
        const ended: IdentifiedSession[] = [];
        for (;;) {
          const found = await sessionsOf(tx, over);
          for (const id of found) {
            const session = await store.identify(id);
            if (session === undefined || !(await store.end(ending(session)))) continue;
            await before(session);
            ended.push(session);
          }
          if (found.length === 0) return ended;
        }
      }),
  };
}

async function sessionsOf(
  tx: Queryable,
  { tenantId, provider, issuer, sid, subject }: EndedUpstream,
): Promise<SessionId[]> {
  const whose = [tenantId, provider, issuer];
  const found = [];
  if (sid !== undefined)
    found.push(
      await tx.query<{ tenant_id: string; session_id: string }>({
        name: 'authorize.sessions_of_upstream_session',
        text: ofSession,
        values: [...whose, sid, subject ?? null, page],
      }),
    );
  if (subject !== undefined)
    found.push(
      await tx.query<{ tenant_id: string; session_id: string }>({
        name: 'authorize.sessions_of_upstream_subject',
        text: ofSubject,
        values: [...whose, subject, sid !== undefined, page],
      }),
    );
  return found
    .flatMap(({ rows }) => rows)
    .map(({ tenant_id, session_id }) => ({ tenantId: tenant_id, sessionId: session_id }));
}
