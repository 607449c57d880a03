import type { Database } from '@tessera/stores';
import { systemClock, systemRandom } from '@tessera/kit';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { changesOf, planTenant } from '../plans/plan.ts';
import { eventsOf } from '../plans/plan-events.ts';
import { createChangeStore } from '../feed/change-store.postgres.ts';
import { setStatus } from '../testing/status-by-call.ts';
import { migrations } from '../wiring.ts';
import { createAdminStore } from './admin-store.postgres.ts';
import type { TenantState } from '../plans/tenant-state.ts';
import { testApplication, testTenant, testUser } from './store.contract.ts';
import { createDirectoryStore } from './store.postgres.ts';
import type { AdminStore, TenantChangeResult } from './store.ts';

let database: Database;
let admin: AdminStore;
let count = 0;
const fresh = () => `t${(count += 1)}`;

beforeAll(async () => {
  database = await testDatabase(migrations);
  admin = createAdminStore(database, { clock: systemClock, random: systemRandom });
});

function apply(desired: TenantState): Promise<TenantChangeResult> {
  return admin.changeTenant(desired.tenant.tenantId, (current) => {
    const plan = planTenant(current, desired);
    return { plan, changes: changesOf(plan), events: eventsOf(plan, {}) };
  });
}

/** A tenant without applications and resources, unless they are given. */
function bare(tenantId: string, fields: Partial<TenantState> = {}): TenantState {
  return testTenant(tenantId, { resources: [], applications: [], ...fields });
}

/** Runs a statement and keeps its locks until the returned function is called. */
async function holding(name: string, text: string, ...values: unknown[]): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const transaction = database.transaction(async (tx) => {
    await tx.query({ name: `test.${name}`, text, values });
    held.resolve();
    await release.promise;
  });
  await Promise.race([held.promise, transaction]);
  return async () => {
    release.resolve();
    await transaction;
  };
}

/** Resolves as soon as that many sessions wait for a lock. */
async function waiters(expected: number): Promise<void> {
  await expect
    .poll(async () => {
      const { rows } = await database.query<{ waiting: number }>({
        name: 'test.waiting',
        text: `SELECT count(*)::integer AS waiting FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      });
      return rows[0]?.waiting;
    })
    .toBe(expected);
}

/** Begins to apply a tenant that exists, and stops after it was read and its unique values were checked. */
async function applyHalf(desired: TenantState) {
  const { tenantId } = desired.tenant;
  const release = await holding(
    'hold_tenant',
    'SELECT 1 FROM directory.tenant WHERE tenant_id = $1 FOR UPDATE',
    tenantId,
  );
  const renamed = { ...desired, tenant: { ...desired.tenant, name: 'renamed' } };
  const done = apply(renamed);
  await waiters(1);
  return async () => {
    await release();
    return done;
  };
}

async function changesAfter(position: number): Promise<string[]> {
  const changes = await createChangeStore(database).changesAfter(position, 100);
  return changes.map(({ kind, tenantId }) => `${kind} ${tenantId}`);
}

describe('writers of the directory', () => {
  it('do not wait for those of other tenants, and the feed is in the order of their commits', async () => {
    const [slow, other] = [fresh(), fresh()];
    await apply(bare(slow));
    const position = await createChangeStore(database).newestChange();
    const finish = await applyHalf(bare(slow));
    expect(await apply(bare(other))).toMatchObject({ kind: 'done' });
    await setStatus(database, { kind: 'tenant', tenantId: other, status: 'disabled' });
    expect(await admin.tenantState(other)).toMatchObject({ tenant: { status: 'disabled' } });
    expect(await finish()).toMatchObject({ kind: 'done' });
    expect(await changesAfter(position)).toEqual([`tenant ${other}`, `tenant ${other}`, `tenant ${slow}`]);
  });

  it('take a position in the feed only when all earlier ones are committed', async () => {
    const [one, other] = [fresh(), fresh()];
    await apply(bare(one));
    const newest = async () => {
      const { rows } = await database.query<{ newest: number }>({
        name: 'test.newest_position',
        text: `SELECT last_value AS newest FROM directory.change_sequence_seq`,
      });
      return rows[0]?.newest;
    };
    const position = await newest();
    const release = await holding(
      'hold_feed',
      `SELECT pg_advisory_xact_lock(hashtextextended('tessera.directory.feed', 0))`,
    );
    const disabled = setStatus(database, { kind: 'user', tenantId: one, id: 'usr_ada', status: 'disabled' });
    const applied = apply(bare(other));
    const bumped = admin.bumpEpoch(one, { event: 'epoch.bumped', outcome: 'success' });
    await waiters(3);
    expect(await newest()).toBe(position);
    await release();
    expect(await disabled).toBe('disabled');
    expect(await applied).toMatchObject({ kind: 'done' });
    expect(await bumped).toMatchObject([{ tenantId: one }]);
  });

  const resource = (audience: string, tokenType: 'JWT' | 'at+jwt') => ({
    owner: 'file',
    audience,
    name: 'API',
    shared: false,
    assignableBy: [],
    scopes: [],
    tokenType,
    scopeFormat: 'array' as const,
    signingAlgorithm: 'RS256' as const,
    roles: [],
  });
  it.each([
    {
      kind: 'clientId',
      first: (value: string) => ({ applications: [testApplication(value)] }),
      second: (value: string) => ({ applications: [testApplication(value)] }),
    },
    {
      kind: 'audience',
      first: (value: string) => ({ resources: [resource(value, 'at+jwt')] }),
      second: (value: string) => ({ resources: [resource(value, 'at+jwt')] }),
    },
    {
      kind: 'audienceAsClientId',
      first: (value: string) => ({ applications: [testApplication(value)] }),
      second: (value: string) => ({ resources: [resource(value, 'JWT')] }),
    },
    {
      kind: 'clientIdAsAudience',
      first: (value: string) => ({ resources: [resource(value, 'JWT')] }),
      second: (value: string) => ({ applications: [testApplication(value)] }),
    },
  ])('see what another tenant took while they were writing: $kind', async ({ kind, first, second }) => {
    // No two of them the same, as client IDs stay with the tenant that had them.
    const value = `of-${kind}`;
    const [one, two] = [fresh(), fresh()];
    await apply(bare(two));
    const finish = await applyHalf(bare(two, second(value)));
    expect(await apply(bare(one, first(value)))).toMatchObject({ kind: 'done' });
    const position = await createChangeStore(database).newestChange();
    expect(await finish()).toEqual({ kind: 'taken', values: [{ kind, value }] });
    expect(await changesAfter(position)).toEqual([]);
    expect((await admin.tenantState(two))?.tenant.name).toBe(two);
    await apply(bare(one));
  });

  it('of a file do not enable who is disabled while it is applied', async () => {
    const tenantId = fresh();
    await apply(bare(tenantId));
    const state = bare(tenantId);
    const users = state.users.map((user) => ({ ...user, name: 'Somebody' }));
    const finish = await applyHalf({ ...state, users });
    const disabled = setStatus(database, { kind: 'user', tenantId, id: 'usr_ada', status: 'disabled' });
    await waiters(2);
    await finish();
    expect(await disabled).toBe('disabled');
    const stored = await admin.tenantState(tenantId);
    expect(stored?.users.find(({ userId }) => userId === 'usr_ada')).toMatchObject({
      name: 'Somebody',
      status: 'disabled',
    });
  });

  it('of a file neither put back a hash that a sign-in renews meanwhile nor end anything', async () => {
    const tenantId = fresh();
    const users = [testUser('ada', { passwordHash: 'weak' })];
    await apply(bare(tenantId, { users }));
    const finish = await applyHalf(
      bare(tenantId, { users: users.map((user) => ({ ...user, name: 'Ada L.' })) }),
    );
    const renewal = { tenantId, userId: 'usr_ada', from: 'weak', to: 'strong' };
    const renewed = admin.replacePasswordHash(renewal);
    await waiters(2);
    await finish();
    expect(await renewed).toBe(true);
    const found = await createDirectoryStore(database).findUser(tenantId, 'usr_ada');
    expect(found).toMatchObject({ user: { name: 'Ada L.', passwordHash: 'strong' }, validFrom: 0 });
  });
});
