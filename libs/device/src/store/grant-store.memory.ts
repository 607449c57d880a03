import type { Clock } from '@tessera/kit';
import { temporarilyUnavailable } from '@tessera/oauth';
import { createFailureCounters } from './user-code-failures.memory.ts';
import { tombstoneSeconds } from './grant-store.ts';
import type { GrantStore, ActiveGrant, NewGrant, PollVerdict } from './grant-store.ts';
import type { GrantKind, GrantRequest } from '../pending-grant.ts';

/** Above this new requests are refused instead of dropping pending ones, like Redis under `noeviction`. */
const maximumRecords = 100_000;

interface StoredGrant {
  readonly request: GrantRequest;
  readonly expiresAt: number;
  readonly initialInterval: number;
  readonly increase: number;
  readonly userCodeHash: string | undefined;
  interval: number;
  lastPoll: number | undefined;
  state: 'pending' | 'approved' | 'denied';
  userId: string;
  sessionId: string;
}

/** Pending requests in the memory of one process. No operation awaits anything, so each is atomic. */
export function createMemoryGrantStore(clock: Clock): GrantStore {
  const records = createRecords(clock);
  const failures = createFailureCounters(clock);
  return {
    async startDevice(grant, userCodeHash) {
      if (records.byUserCode(userCodeHash) !== undefined) return 'user_code_taken';
      records.add(grant, { userId: '', userCodeHash });
      return 'started';
    },

    async startBackchannel(grant, userId, pendingLimit) {
      const { tenantId, authenticated } = grant.request;
      const waiting = userId === undefined ? [] : records.waiting(tenantId, userId);
      const alike = waiting.filter(({ request }) => request.authenticated === authenticated);
      const tooMany = alike.length >= pendingLimit;
      records.add(grant, { userId: tooMany ? '' : (userId ?? ''), userCodeHash: undefined });
      return tooMany ? 'too_many_pending' : 'started';
    },

    async poll(kind, hash, client) {
      const record = records.byHash(kind, hash);
      if (record === undefined) return 'unknown';
      const { tenantId, clientId } = record.request;
      if (clientId !== client.clientId || tenantId !== client.tenantId) return 'other_client';
      if (clock.now() >= record.expiresAt) return 'expired';
      return record.state === 'pending' ? paced(record, clock.now()) : record.state;
    },

    async open(userCodeHash, owner, rules) {
      const exceeded = failures.exceeded(rules);
      if (exceeded !== undefined) return { outcome: 'throttled', ...exceeded };
      const record = records.byUserCode(userCodeHash);
      const wrong = record === undefined ? 'unknown' : owner && ownershipMismatch(record, owner);
      if (record === undefined || wrong !== undefined) {
        failures.count(rules);
        return { outcome: wrong ?? 'unknown' };
      }
      if (owner !== undefined) Object.assign(record, { userId: owner.userId, sessionId: owner.sessionId });
      return { outcome: 'found', grant: activeGrant(record, clock) };
    },

    async find(requestId) {
      const record = records.byRequest(requestId);
      return record && clock.now() < record.expiresAt ? activeGrant(record, clock) : undefined;
    },

    async pendingOf(tenantId, userId) {
      return records
        .waiting(tenantId, userId)
        .sort((one, other) => one.expiresAt - other.expiresAt)
        .map((record) => activeGrant(record, clock));
    },

    async settle({ kind, hash }, decision) {
      const record = records.byHash(kind, hash);
      if (record !== undefined) record.state = decision;
    },
  };
}

/** Mirrors the script `poll` of the store on Redis. */
function paced(record: StoredGrant, now: number): PollVerdict {
  const gap = record.lastPoll === undefined ? Infinity : now - record.lastPoll;
  record.lastPoll = now;
  if (gap * 10 >= record.interval * 9) return 'pending';
  record.interval = Math.min(
    record.interval + record.increase,
    Math.max(gap, record.initialInterval) + record.increase,
  );
  return 'slow_down';
}

function ownershipMismatch(
  record: StoredGrant,
  owner: { readonly tenantId: string; readonly userId: string },
): 'other_tenant' | 'other_person' | undefined {
  if (record.request.tenantId !== owner.tenantId) return 'other_tenant';
  return record.userId === '' || record.userId === owner.userId ? undefined : 'other_person';
}

function activeGrant({ request, userId, sessionId, expiresAt }: StoredGrant, clock: Clock): ActiveGrant {
  return {
    request,
    owner: { userId, sessionId },
    remainingSeconds: (expiresAt - clock.now()) / 1000,
  };
}

/** The records and their indexes. */
function createRecords(clock: Clock) {
  const all = new Map<string, StoredGrant>();
  const userCodes = new Map<string, StoredGrant>();
  const requests = new Map<string, StoredGrant>();
  const persons = new Map<string, Set<StoredGrant>>();
  const keyOf = (kind: GrantKind, hash: string): string => `${kind} ${hash}`;
  const personOf = (tenantId: string, userId: string): string => `${tenantId}\0${userId}`;
  const isPending = (record: StoredGrant): boolean =>
    record.state === 'pending' && clock.now() < record.expiresAt;

  function retained(record: StoredGrant | undefined): StoredGrant | undefined {
    const isOver = record !== undefined && clock.now() >= record.expiresAt + tombstoneSeconds * 1000;
    return isOver ? undefined : record;
  }

  function remove(record: StoredGrant): void {
    const { kind, hash, requestId, tenantId } = record.request;
    all.delete(keyOf(kind, hash));
    requests.delete(requestId);
    if (record.userCodeHash !== undefined && userCodes.get(record.userCodeHash) === record) {
      userCodes.delete(record.userCodeHash);
    }
    const person = personOf(tenantId, record.userId);
    const ofPerson = persons.get(person);
    ofPerson?.delete(record);
    if (ofPerson?.size === 0) persons.delete(person);
  }

  function removeExpired(): void {
    for (const record of all.values()) {
      // Lifetimes are similar, so the oldest record expires first.
      if (retained(record) !== undefined) return;
      remove(record);
    }
  }

  return {
    add(
      { request, lifetimeSeconds, pace }: NewGrant,
      { userId, userCodeHash }: Pick<StoredGrant, 'userId' | 'userCodeHash'>,
    ): void {
      removeExpired();
      if (all.size >= maximumRecords) throw temporarilyUnavailable('too many pending requests in memory');
      const record: StoredGrant = {
        request,
        expiresAt: clock.now() + lifetimeSeconds * 1000,
        interval: pace.intervalSeconds * 1000,
        initialInterval: pace.intervalSeconds * 1000,
        increase: pace.increaseSeconds * 1000,
        lastPoll: undefined,
        state: 'pending',
        userId,
        sessionId: '',
        userCodeHash,
      };
      all.set(keyOf(request.kind, request.hash), record);
      requests.set(request.requestId, record);
      if (userCodeHash !== undefined) userCodes.set(userCodeHash, record);
      else if (userId !== '') {
        const person = personOf(request.tenantId, userId);
        persons.set(person, (persons.get(person) ?? new Set()).add(record));
      }
    },
    byHash: (kind: GrantKind, hash: string) => retained(all.get(keyOf(kind, hash))),
    byRequest: (requestId: string) => requests.get(requestId),
    byUserCode(userCodeHash: string): StoredGrant | undefined {
      const record = userCodes.get(userCodeHash);
      return record !== undefined && isPending(record) ? record : undefined;
    },
    waiting: (tenantId: string, userId: string): StoredGrant[] =>
      [...(persons.get(personOf(tenantId, userId)) ?? [])].filter(isPending),
  };
}
