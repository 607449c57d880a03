import type { Clock } from '@tessera/kit';
import { temporarilyUnavailable } from '@tessera/oauth';
import { longestCodeLifetimeSeconds, tooManyPending } from './visit-store.ts';
import type { CodeRecord, CodeStore, Redemption } from './visit-store.ts';
import type { AnsweredVisit, EndingVisit, VisitStore, Visit } from './visit-store.ts';

/** Beyond this, new records are rejected and live ones kept, as Redis does with `noeviction`. */
const maximumRecords = 20_000;

/** Most records of one origin, whatever the quota: it takes twenty of them to fill the store. */
const maximumOfOrigin = maximumRecords / 20;
const retryAfterSeconds = 60;

/** Values that expire, in the memory of one process. */
interface ExpiringMap<V> {
  get(key: string): V | undefined;
  /** The value counts against the quota of `origin`, if there is one. */
  set(key: string, value: V, lifetimeSeconds: number, origin?: string): void;
  /** Replaces a value for the rest of its lifetime; false if there is none. */
  replace(key: string, value: V): boolean;
  delete(key: string): boolean;
}

interface Entry<V> {
  readonly value: V;
  readonly expiresAt: number;
  readonly origin: string | undefined;
}

function createExpiringMap<V>(clock: Clock, quota = maximumOfOrigin): ExpiringMap<V> {
  const entries = new Map<string, Entry<V>>();
  const held = new Map<string, number>();
  function count(origin: string | undefined, change: 1 | -1): void {
    if (origin === undefined) return;
    const now = (held.get(origin) ?? 0) + change;
    if (now === 0) held.delete(origin);
    else held.set(origin, now);
  }
  function remove(key: string): boolean {
    const entry = entries.get(key);
    if (entry === undefined) return false;
    count(entry.origin, -1);
    return entries.delete(key);
  }
  function living(key: string): V | undefined {
    const entry = entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expiresAt > clock.now()) return entry.value;
    remove(key);
    return undefined;
  }
  function removeExpired(): void {
    for (const [key, entry] of entries) {
      // Lifetimes are similar within a map, so the oldest value expires first, or stays for some more minutes.
      if (entry.expiresAt > clock.now()) return;
      remove(key);
    }
  }
  return {
    get: living,
    set(key, value, lifetimeSeconds, origin) {
      removeExpired();
      remove(key);
      if (origin !== undefined && (held.get(origin) ?? 0) >= quota) throw tooManyPending(retryAfterSeconds);
      if (entries.size >= maximumRecords) throw temporarilyUnavailable('too many pending records in memory');
      count(origin, 1);
      entries.set(key, { value, expiresAt: clock.now() + lifetimeSeconds * 1000, origin });
    },
    replace(key, value) {
      const entry = living(key) === undefined ? undefined : entries.get(key);
      if (entry !== undefined) entries.set(key, { ...entry, value });
      return entry !== undefined;
    },
    delete: (key) => living(key) !== undefined && remove(key),
  };
}

interface MemoryVisitStore extends VisitStore {
  /** As `answer`, without awaiting anything. */
  end(ending: EndingVisit): boolean;
}

/** Visits in the memory of one process, up to `quota` of one address. */
export function createMemoryVisitStore(clock: Clock, quota: number = maximumOfOrigin): MemoryVisitStore {
  const visits = createExpiringMap<Visit>(clock, Math.min(quota, maximumOfOrigin));
  const answers = createExpiringMap<AnsweredVisit>(clock);
  function end({ idHash, answered, lifetimeSeconds }: EndingVisit): boolean {
    if (!visits.delete(idHash)) return false;
    answers.set(idHash, answered, lifetimeSeconds);
    return true;
  }
  return {
    end,
    save: async (idHash, request, lifetimeSeconds, origin) =>
      visits.set(idHash, request, lifetimeSeconds, origin),
    find: (idHash) => Promise.resolve(visits.get(idHash)),
    update: async (idHash, visit) => visits.replace(idHash, visit),
    answer: async (idHash, answered, lifetimeSeconds) => end({ idHash, answered, lifetimeSeconds }),
    findAnswered: (idHash) => Promise.resolve(answers.get(idHash)),
    async answerAgain(idHash, answered, lifetimeSeconds) {
      if (answers.get(idHash) !== undefined) answers.set(idHash, answered, lifetimeSeconds);
    },
  };
}

interface StoredCode {
  readonly record: CodeRecord;
  readonly taken: boolean;
  readonly burnt: boolean;
}

/** Codes in the memory of one process. No operation awaits anything, so each is atomic. */
export function createMemoryCodeStore(clock: Clock, visits: Pick<MemoryVisitStore, 'end'>): CodeStore {
  const codes = createExpiringMap<{ stored: StoredCode }>(clock);
  const codesOfSession = createExpiringMap<ReadonlySet<string> | 'ended'>(clock);
  const earlierSessions = createExpiringMap<string>(clock);

  function endCode(codeHash: string): boolean {
    const slot = codes.get(codeHash);
    if (slot === undefined || !slot.stored.taken) return codes.delete(codeHash);
    slot.stored = { ...slot.stored, burnt: true };
    return true;
  }

  function dropCodes(sessionId: string, lifetimeSeconds: number): number {
    const held = codesOfSession.get(sessionId);
    codesOfSession.set(sessionId, 'ended', lifetimeSeconds);
    if (held === undefined || held === 'ended') return 0;
    return [...held].filter(endCode).length;
  }

  return {
    async save(codeHash, record, lifetimeSeconds, ending) {
      const { sessionId } = record.grant;
      const others = codesOfSession.get(sessionId);
      if (others === 'ended') return 'session_ended';
      codes.set(codeHash, { stored: { record, taken: false, burnt: false } }, lifetimeSeconds);
      if (ending !== undefined && !visits.end(ending)) {
        codes.delete(codeHash);
        return 'visit_ended';
      }
      codesOfSession.set(sessionId, new Set([...(others ?? []), codeHash]), longestCodeLifetimeSeconds);
      return 'saved';
    },

    async redeem(codeHash, presentation): Promise<Redemption> {
      const slot = codes.get(codeHash);
      if (slot === undefined) return { outcome: 'unknown' };
      const { record, taken, burnt } = slot.stored;
      const { grant } = record;
      if (grant.clientId !== presentation.clientId || grant.tenantId !== presentation.tenantId) {
        return { outcome: 'other_client' };
      }
      const mismatch = mismatchOf(record, presentation);
      if (mismatch !== undefined) {
        slot.stored = { record, taken, burnt: true };
        return taken && presentation.confidential
          ? { outcome: 'granted', grant, takenBefore: true, burnt: true }
          : { outcome: mismatch };
      }
      if (burnt && !taken) return { outcome: 'burnt' };
      slot.stored = { record, taken: true, burnt };
      return { outcome: 'granted', grant, takenBefore: taken, burnt };
    },

    async withdraw(codeHash) {
      return codes.get(codeHash)?.stored.taken === false && codes.delete(codeHash);
    },

    async followSession(earlier, later, lifetimeSeconds) {
      earlierSessions.set(later, earlier, lifetimeSeconds);
    },

    async dropSession(sessionId, lifetimeSeconds) {
      let dropped = 0;
      for (
        let ended: string | undefined = sessionId;
        ended !== undefined;
        ended = earlierSessions.get(ended)
      ) {
        dropped += dropCodes(ended, lifetimeSeconds);
      }
      return dropped;
    },
  };
}

function mismatchOf(
  record: CodeRecord,
  presented: { readonly codeChallenge: string; readonly redirectUri: string },
): 'wrong_verifier' | 'wrong_redirect_uri' | undefined {
  if (record.codeChallenge !== presented.codeChallenge) return 'wrong_verifier';
  if (record.redirectUri !== presented.redirectUri) return 'wrong_redirect_uri';
  return undefined;
}
