import { setTimeout as pause } from 'node:timers/promises';
import type { DirectoryClient } from '@tessera/directory-client';
import { ChangeKind, type WatchChangesResponse } from '@tessera/proto-gen/directory';
import { rootCall } from '@tessera/rpc';
import type { Logger } from '@tessera/telemetry';
import type { AuthorizeAudit } from '../audit.ts';
import { firstPosition } from '../store/session-store.postgres.ts';
import type { SessionScope, SessionStore } from '../store/session-store.ts';
import { counts } from './counts.ts';

const page = 100;
const callMs = 3_000;
const retryMs = 2_000;
/** Beyond it, all sessions are checked at once instead of person by person. */
const mostWaiting = 1_000;

/**
 * Ends the sessions that a change in the directory invalidated: of people who were disabled or locked, or got another
 * password, and those that a raised policy of their tenant no longer accepts. No such session is accepted anyway;
 * ending it notifies the applications that took part in it. Only those sessions are read.
 */
export interface Invalidation {
  /** To be called after a change has reached the directory client. */
  changed(change: Pick<WatchChangesResponse, 'kind' | 'tenantId' | 'id'>): void;
  /** Changes may have been missed. */
  missed(): void;
  close(): Promise<void>;
}

export function startInvalidation({
  sessions,
  directory,
  audit,
  onEnd,
  log,
}: {
  readonly sessions: Pick<SessionStore, 'withParticipants' | 'end'>;
  readonly directory: Pick<DirectoryClient, 'tenant' | 'user'>;
  readonly audit: Pick<AuthorizeAudit, 'sessionInvalidated'>;
  readonly onEnd: () => void;
  readonly log: Logger;
}): Invalidation {
  const closing = new AbortController();
  const waiting = new Map<string, SessionScope>();
  let running: Promise<void> | undefined;

  async function check(scope: SessionScope): Promise<void> {
    let after = firstPosition;
    while (!closing.signal.aborted) {
      const found = await sessions.withParticipants(scope, after, page);
      for (const session of found) {
        const call = rootCall('session-invalidation', callMs, closing.signal);
        const { tenantId, userId, sessionId, authentication } = session;
        const user = await directory.user(tenantId, userId, call);
        if (counts(await directory.tenant(tenantId, call), user, authentication)) continue;
        const row = audit.sessionInvalidated(session);
        if (await sessions.end({ sessionId, reason: 'invalidated', requestId: '', audit: row })) onEnd();
      }
      const last = found.at(-1);
      if (last === undefined || found.length < page) return;
      after = last;
    }
  }

  async function run(): Promise<void> {
    let failed = false;
    for (let [next] = waiting; next !== undefined && !closing.signal.aborted; [next] = waiting) {
      const [key, scope] = next;
      waiting.delete(key);
      try {
        await check(scope);
        failed = false;
      } catch (error) {
        if (closing.signal.aborted) return;
        if (!failed)
          log.warn({ err: error }, 'cannot check sessions after a change in the directory; trying again');
        failed = true;
        waiting.set(key, scope);
        await pause(retryMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
      }
    }
  }

  function add(scope: SessionScope): void {
    if (waiting.size >= mostWaiting) return missed();
    waiting.set(JSON.stringify([scope.tenantId, scope.userId]), scope);
    start();
  }

  function missed(): void {
    waiting.clear();
    waiting.set('', {});
    start();
  }

  function start(): void {
    running ??= run().finally(() => {
      running = undefined;
      if (waiting.size > 0 && !closing.signal.aborted) start();
    });
  }

  return {
    changed({ kind, tenantId, id }) {
      if (kind === ChangeKind.USER) add({ tenantId, userId: id });
      if (kind === ChangeKind.TENANT) add({ tenantId });
    },
    missed,
    async close() {
      closing.abort();
      await running;
    },
  };
}
