import { describe, expect, it } from 'vitest';
import { systemRandom } from '@tessera/kit';
import { tombstoneSeconds } from './grant-store.ts';
import type { GrantStore, FailureRule, NewGrant } from './grant-store.ts';
import type { GrantKind, Owner } from '../pending-grant.ts';

/** A store and the passing of its time. */
export interface GrantEngine {
  readonly store: GrantStore;
  elapse(ms: number): Promise<void>;
}

type Open = () => Promise<GrantEngine>;

/** Every test works on keys of its own. */
const unique = (): string => systemRandom.bytes(8).toString('hex');

const client = { tenantId: 'acme', clientId: 'tv' };

function newGrant(kind: GrantKind = 'device_code', lifetimeSeconds = 60): NewGrant {
  const request = {
    kind,
    hash: unique(),
    requestId: unique(),
    ...client,
    scopes: ['openid', 'orders.read'],
    resource: 'https://orders.example',
    issuer: 'https://id.example',
    ipAddress: '192.0.2.1',
    bindingMessage: 'å "1" \\ \u2603',
    authenticated: true,
  };
  return { request, lifetimeSeconds, pace: { intervalSeconds: 1, increaseSeconds: 1 } };
}

function newOwner(): Owner {
  return { tenantId: 'acme', userId: unique(), sessionId: unique() };
}

async function startedDevice(store: GrantStore, lifetimeSeconds?: number) {
  const grant = newGrant('device_code', lifetimeSeconds);
  const userCode = unique();
  expect(await store.startDevice(grant, userCode)).toBe('started');
  return { ...grant, userCode, poll: () => store.poll('device_code', grant.request.hash, client) };
}

async function startedBackchannel(store: GrantStore, userId = unique(), lifetimeSeconds?: number) {
  const grant = newGrant('auth_req_id', lifetimeSeconds);
  const outcome = await store.startBackchannel(grant, userId, 3);
  return { ...grant, userId, outcome, poll: () => store.poll('auth_req_id', grant.request.hash, client) };
}

/** What every store of pending requests must do. */
export function grantStoreContract(engine: string, open: Open): void {
  describe(`pending requests on ${engine}`, () => {
    pollContract(open);
    settleContract(open);
    userCodeContract(open);
    failureContract(open);
    backchannelContract(open);
  });
}

function pollContract(open: Open): void {
  it('accepts the first poll and polls at the interval (RFC 8628 §3.5)', async () => {
    const { store, elapse } = await open();
    const { poll } = await startedDevice(store);
    expect(await poll()).toBe('pending');
    await elapse(1000);
    expect(await poll()).toBe('pending');
  });

  it('returns slow_down and a longer interval if a client polls too fast, and lets it recover (RFC 8628 §3.5)', async () => {
    const { store, elapse } = await open();
    const { poll } = await startedDevice(store);
    expect(await poll()).toBe('pending');
    expect(await poll()).toBe('slow_down');
    await elapse(1100);
    expect(await poll(), 'the old interval is too fast now').toBe('slow_down');
    await elapse(2200);
    expect(await poll()).toBe('pending');
    await elapse(2200);
    expect(await poll(), 'and the new one stays enough').toBe('pending');
  });

  it('lets a client recover if some slow_down responses were lost', async () => {
    const { store, elapse } = await open();
    const { poll } = await startedDevice(store);
    for (let unheard = 0; unheard < 10; unheard += 1) await poll();
    await elapse(1100);
    expect(await poll(), 'the one it hears of').toBe('slow_down');
    await elapse(2200);
    expect(await poll(), 'the next, at the returned interval').toBe('pending');
  });

  it('answers twenty concurrent polls with one pending and nineteen slow_down', async () => {
    const { store } = await open();
    const { poll } = await startedDevice(store);
    const verdicts = await Promise.all(Array.from({ length: 20 }, poll));
    expect(verdicts.filter((verdict) => verdict === 'pending')).toHaveLength(1);
    expect(verdicts.filter((verdict) => verdict === 'slow_down')).toHaveLength(19);
  });

  it('reveals nothing about the request of another client, and does not change it', async () => {
    const { store } = await open();
    const { request, poll } = await startedDevice(store);
    const foreign = [
      { ...client, clientId: 'other' },
      { ...client, tenantId: 'other' },
    ];
    for (const other of foreign) {
      expect(await store.poll('device_code', request.hash, other)).toBe('other_client');
    }
    expect(await poll(), 'still the first poll of its own client').toBe('pending');
    expect(await store.poll('auth_req_id', request.hash, client)).toBe('unknown');
    expect(await store.poll('device_code', unique(), client)).toBe('unknown');
  });

  it('distinguishes an expired request from one that never existed, for a while', async () => {
    const { store, elapse } = await open();
    const { request, userCode, poll } = await startedDevice(store, 0.6);
    expect(await poll()).toBe('pending');
    await elapse(650);
    expect(await poll()).toBe('expired');
    expect(await store.poll('device_code', request.hash, { ...client, clientId: 'other' })).toBe(
      'other_client',
    );
    expect(await store.find(request.requestId)).toBeUndefined();
    expect(await store.open(userCode, newOwner(), [])).toEqual({ outcome: 'unknown' });
  });
}

function settleContract(open: Open): void {
  it.each(['approved', 'denied'] as const)(
    'answers every poll with %s after the decision',
    async (decision) => {
      const { store } = await open();
      const { request, userCode, poll } = await startedDevice(store);
      await poll();
      await store.settle(request, decision);
      const verdicts = await Promise.all(Array.from({ length: 20 }, poll));
      expect(new Set(verdicts)).toEqual(new Set([decision]));
      expect(await store.open(userCode, newOwner(), []), 'a user code is valid once').toEqual({
        outcome: 'unknown',
      });
      expect((await store.find(request.requestId))?.request, 'so that a decision can be repeated').toEqual(
        request,
      );
    },
  );

  it('does not recreate a request that is gone', async () => {
    const { store } = await open();
    const gone = newGrant().request;
    await store.settle(gone, 'approved');
    expect(await store.poll('device_code', gone.hash, client)).toBe('unknown');
  });

  it('never answers pending after a decision, under any concurrency', async () => {
    const { store } = await open();
    for (let round = 0; round < 20; round += 1) {
      const { request, poll } = await startedDevice(store);
      const polls = Array.from({ length: round }, poll);
      const settled = store.settle(request, 'denied');
      await Promise.all([...polls, settled]);
      expect(await poll()).toBe('denied');
    }
  });
}

function userCodeContract(open: Open): void {
  it('returns the request unchanged, byte for byte, when it is opened', async () => {
    const { store } = await open();
    const { request, userCode } = await startedDevice(store);
    const owner = newOwner();
    const opening = await store.open(userCode, owner, []);
    if (opening.outcome !== 'found') throw new Error(opening.outcome);
    expect(opening.grant.request).toEqual(request);
    expect(opening.grant.owner).toEqual({ userId: owner.userId, sessionId: owner.sessionId });
    expect(opening.grant.remainingSeconds).toBeGreaterThan(50);
    expect(await store.find(request.requestId)).toMatchObject({ request, owner: opening.grant.owner });
    expect(await store.find(unique())).toBeUndefined();
  });

  it('belongs to the first person who opens it, in their latest session', async () => {
    const { store } = await open();
    const { request, userCode } = await startedDevice(store);
    const owner = newOwner();
    await store.open(userCode, owner, []);
    expect(await store.open(userCode, newOwner(), [])).toEqual({ outcome: 'other_person' });
    const moved = { ...owner, sessionId: unique() };
    expect((await store.open(userCode, moved, [])).outcome).toBe('found');
    const { userId, sessionId } = moved;
    expect((await store.find(request.requestId))?.owner).toEqual({ userId, sessionId });
  });

  it('belongs to exactly one of twenty people who open it concurrently', async () => {
    const { store } = await open();
    const { userCode } = await startedDevice(store);
    const openings = await Promise.all(
      Array.from({ length: 20 }, () => store.open(userCode, newOwner(), [])),
    );
    expect(openings.filter(({ outcome }) => outcome === 'found')).toHaveLength(1);
  });

  it('has no owner until someone signs in, and never to another tenant', async () => {
    const { store } = await open();
    const { request, userCode } = await startedDevice(store);
    expect((await store.open(userCode, undefined, [])).outcome).toBe('found');
    expect(await store.open(userCode, { ...newOwner(), tenantId: 'other' }, [])).toEqual({
      outcome: 'other_tenant',
    });
    expect((await store.find(request.requestId))?.owner).toEqual({ userId: '', sessionId: '' });
    expect((await store.open(userCode, newOwner(), [])).outcome).toBe('found');
  });

  it('assigns a user code to one pending request at a time', async () => {
    const { store, elapse } = await open();
    const userCode = unique();
    const starts = await Promise.all(
      Array.from({ length: 20 }, () => store.startDevice(newGrant('device_code', 0.6), userCode)),
    );
    expect(starts.filter((outcome) => outcome === 'started')).toHaveLength(1);
    await elapse(650);
    expect(await store.startDevice(newGrant(), userCode)).toBe('started');
  });
}

function failureContract(open: Open): void {
  function rule(limit: number, name: FailureRule['name'] = 'address'): FailureRule {
    return { name, key: unique(), limit, windowSeconds: 60 };
  }

  it('refuses further guesses once a limit is reached, even a correct one (RFC 8628 §5.1)', async () => {
    const { store } = await open();
    const { userCode } = await startedDevice(store);
    const [session, address] = [rule(3, 'session'), rule(5)];
    const guess = (code = unique()) => store.open(code, newOwner(), [session, address]);
    for (let wrong = 0; wrong < 3; wrong += 1) expect(await guess()).toEqual({ outcome: 'unknown' });
    const throttled = await guess(userCode);
    if (throttled.outcome !== 'throttled') throw new Error(throttled.outcome);
    expect(throttled.rule).toBe('session');
    expect(throttled.retryAfterSeconds).toBeGreaterThan(50);
    const elsewhere = { ...session, key: unique() };
    const others = await Promise.all(
      Array.from({ length: 4 }, () => store.open(unique(), newOwner(), [elsewhere, address])),
    );
    expect(
      others.filter(({ outcome }) => outcome === 'unknown'),
      'two were left to the address',
    ).toHaveLength(2);
    expect((await store.open(userCode, newOwner(), [rule(3)])).outcome).toBe('found');
  });

  it('allows exactly the limit of concurrent guesses', async () => {
    const { store } = await open();
    const rules = [rule(7)];
    const openings = await Promise.all(
      Array.from({ length: 40 }, () => store.open(unique(), newOwner(), rules)),
    );
    expect(openings.filter(({ outcome }) => outcome === 'unknown')).toHaveLength(7);
  });

  it('does not count correct codes, and counts codes of others as wrong', async () => {
    const { store } = await open();
    const { userCode } = await startedDevice(store);
    const owner = newOwner();
    const rules = [rule(2)];
    for (let right = 0; right < 5; right += 1) {
      expect((await store.open(userCode, owner, rules)).outcome).toBe('found');
    }
    expect((await store.open(userCode, newOwner(), rules)).outcome).toBe('other_person');
    const foreign = { ...newOwner(), tenantId: 'other' };
    expect((await store.open(userCode, foreign, rules)).outcome).toBe('other_tenant');
    expect((await store.open(userCode, owner, rules)).outcome).toBe('throttled');
  });

  it('forgets wrong guesses when the window ends', async () => {
    const { store, elapse } = await open();
    const rules = [{ ...rule(1), windowSeconds: 0.6 }];
    expect((await store.open(unique(), newOwner(), rules)).outcome).toBe('unknown');
    expect((await store.open(unique(), newOwner(), rules)).outcome).toBe('throttled');
    await elapse(650);
    expect((await store.open(unique(), newOwner(), rules)).outcome).toBe('unknown');
  });
}

function backchannelContract(open: Open): void {
  it('lists the pending requests of a person only to them, earliest expiry first', async () => {
    const { store } = await open();
    const late = await startedBackchannel(store, undefined, 50);
    const soon = await startedBackchannel(store, late.userId, 40);
    await startedBackchannel(store);
    const waiting = await store.pendingOf('acme', late.userId);
    expect(waiting.map(({ request }) => request)).toEqual([soon.request, late.request]);
    expect(waiting[0]?.owner).toEqual({ userId: late.userId, sessionId: '' });
    expect(await store.pendingOf('other', late.userId)).toEqual([]);
    await store.settle(soon.request, 'approved');
    expect(await soon.poll()).toBe('approved');
    expect(await store.pendingOf('acme', late.userId)).toHaveLength(1);
  });

  it('does not list expired requests', async () => {
    const { store, elapse } = await open();
    const { userId, poll } = await startedBackchannel(store, undefined, 0.6);
    await startedBackchannel(store, userId, 60);
    await elapse(650);
    expect(await store.pendingOf('acme', userId)).toHaveLength(1);
    expect(await poll()).toBe('expired');
  });

  it('keeps at most the limit of pending requests per person under concurrency, and the rest look the same', async () => {
    const { store } = await open();
    const userId = unique();
    const started = await Promise.all(Array.from({ length: 20 }, () => startedBackchannel(store, userId)));
    expect(started.filter(({ outcome }) => outcome === 'started')).toHaveLength(3);
    expect(await store.pendingOf('acme', userId)).toHaveLength(3);
    expect(await Promise.all(started.map(({ poll }) => poll()))).toEqual(started.map(() => 'pending'));
    const [decided] = started.filter(({ outcome }) => outcome === 'started');
    if (decided === undefined) throw new Error('none was started');
    await store.settle(decided.request, 'denied');
    expect((await startedBackchannel(store, userId)).outcome).toBe('started');
  });

  it('does not count an expired request against the limit of its person', async () => {
    const { store, elapse } = await open();
    const userId = unique();
    for (const lifetime of [0.6, 60, 60]) {
      expect((await startedBackchannel(store, userId, lifetime)).outcome).toBe('started');
    }
    expect((await startedBackchannel(store, userId)).outcome).toBe('too_many_pending');
    await elapse(700);
    expect((await startedBackchannel(store, userId)).outcome).toBe('started');
  });

  it('counts the requests of authenticated clients and of all others separately', async () => {
    const { store } = await open();
    const userId = unique();
    const start = async (authenticated: boolean) => {
      const { request, ...rest } = newGrant('auth_req_id');
      return store.startBackchannel({ ...rest, request: { ...request, authenticated } }, userId, 2);
    };
    const outcomes = [];
    for (const authenticated of [false, false, false, true, true, true]) {
      outcomes.push(await start(authenticated));
    }
    const [allowed, refused] = ['started', 'too_many_pending'];
    expect(outcomes).toEqual([allowed, allowed, refused, allowed, allowed, refused]);
    expect(await store.pendingOf('acme', userId)).toHaveLength(4);
  });

  it('keeps what the ping of a client needs, and lets it poll meanwhile (CIBA Core §10.1)', async () => {
    const { store } = await open();
    const { request, ...rest } = newGrant('auth_req_id');
    const delivery = { mode: 'ping', sealed: 'sealed' } as const;
    await store.startBackchannel({ ...rest, request: { ...request, delivery } }, unique(), 3);
    expect((await store.find(request.requestId))?.request.delivery).toEqual(delivery);
    expect(await store.poll('auth_req_id', request.hash, client)).toBe('pending');
  });

  it('keeps a request without a person pending until it expires', async () => {
    const { store, elapse } = await open();
    const grant = newGrant('auth_req_id', 0.6);
    expect(await store.startBackchannel(grant, undefined, 3)).toBe('started');
    const poll = () => store.poll('auth_req_id', grant.request.hash, client);
    expect(await poll()).toBe('pending');
    expect((await store.find(grant.request.requestId))?.owner).toEqual({ userId: '', sessionId: '' });
    await elapse(650);
    expect(await poll()).toBe('expired');
  });
}

/** For stores whose time can be made to pass: what is long over is forgotten. */
export function forgettingContract(engine: string, open: Open): void {
  it(`forgets expired requests on ${engine} once they are no longer asked for`, async () => {
    const { store, elapse } = await open();
    const { poll } = await startedDevice(store, 10);
    await elapse(10_000 + tombstoneSeconds * 1000 - 1);
    expect(await poll()).toBe('expired');
    await elapse(1);
    expect(await poll()).toBe('unknown');
  });
}
