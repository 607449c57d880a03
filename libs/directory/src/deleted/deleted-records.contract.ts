import { createSecretKey } from 'node:crypto';
import { createHash } from 'node:crypto';
import { Code, type CallContext } from '@tessera/rpc';
import { systemClock, systemRandom } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { beforeAll, describe, expect, it } from 'vitest';
import { changesOf, planTenant } from '../plans/plan.ts';
import { eventsOf } from '../plans/plan-events.ts';
import { createRecordChanges } from '../records/change-records.ts';
import type { RecordChanges } from '../records/change-requests.ts';
import { createAdminStore } from '../store/admin-store.postgres.ts';
import { createChangeRecord } from '../store/change-record.postgres.ts';
import type { TenantState } from '../plans/tenant-state.ts';
import { testApplication, testTenant, testUser } from '../store/store.contract.ts';
import type { UserRecord } from '../users/fields.ts';
import { findRecord } from '../store/read-records.postgres.ts';
import type { AdminStore } from '../store/store.ts';
import type { DeletedPage } from './deleted-record.ts';
import { deletedNames, listDeleted, purgeDeleted } from './deleted-records.postgres.ts';

const call = (): CallContext => ({
  caller: 'operator',
  requestId: 'a-request',
  deadline: Infinity,
  signal: AbortSignal.timeout(60_000),
  onward: () => ({}),
});
const everything = { after: '', search: '', size: 10 };

/** A name of its own for each statement. */
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12);

/** What every store keeps of deleted people and applications. Each test has tenants of its own. */
export function deletedRecordsContract(engine: string, open: () => Promise<Database>): void {
  describe(`deleted records on ${engine}`, () => {
    let database: Database;
    let admin: AdminStore;
    let records: RecordChanges;
    let count = 0;
    const fresh = () => `kept${(count += 1)}`;
    beforeAll(async () => {
      database = await open();
      const runtime = { clock: systemClock, random: systemRandom };
      admin = createAdminStore(database, runtime);
      records = createRecordChanges({
        changeRecord: createChangeRecord(database, runtime),
        pepper: createSecretKey(Buffer.alloc(32, 1)),
        onChange: () => undefined,
      });
    });

    const make = (desired: TenantState) =>
      admin.changeTenant(desired.tenant.tenantId, (current) => {
        const plan = planTenant(current, desired);
        return { plan, changes: changesOf(plan), events: eventsOf(plan, {}) };
      });
    const people = { resources: [], applications: [] };
    const restore = (tenantId: string, id = 'usr_ada', kind: 'user' | 'application' = 'user') =>
      records.restore(
        kind,
        { tenantId, id, validateOnly: false, draft: async ({ record }) => record },
        call(),
      );
    const query = (text: string, ...values: unknown[]) =>
      database.query<Record<string, unknown>>({ name: `test.${digestOf(text)}`, text, values });
    const age = (tenantId: string, days: number) =>
      query(
        `UPDATE directory.deleted_record SET deleted_at = deleted_at - $2 * interval '1 day' WHERE tenant_id = $1`,
        tenantId,
        days,
      );
    const userRow = async (tenantId: string) => {
      const { rows } = await query(
        `SELECT to_jsonb(u) - 'updated_at' - 'valid_from' AS row, u.valid_from::float8 AS valid_from FROM directory.user_account u
          WHERE tenant_id = $1 AND user_id = 'usr_ada'`,
        tenantId,
      );
      return rows[0];
    };

    it('give a person back with everything, and with an end of what was issued before', async () => {
      const tenantId = fresh();
      const ada = testUser('ada', {
        passwordHash: 'weak',
        owner: 'people',
        status: 'locked',
        roles: ['clerk', 'manager'],
        attributes: { department: 'Engines' },
        standardClaims: { givenName: 'Ada', emailVerified: false },
      });
      await make(testTenant(tenantId, { ...people, users: [ada] }));
      const renewal = { tenantId, userId: 'usr_ada', from: 'weak', to: 'strong' };
      expect(await admin.replacePasswordHash(renewal)).toBe(true);
      await query(
        `UPDATE directory.user_account SET created_at = '2020-01-01', valid_from = 4102444800, locked_down_at = 7 WHERE tenant_id = $1`,
        tenantId,
      );
      const before = await userRow(tenantId);
      await make(testTenant(tenantId, { ...people, users: [] }));
      expect(await findRecord(database, 'user', tenantId, 'usr_ada')).toBeUndefined();
      const { record } = await restore(tenantId);
      expect(record).toEqual({ ...ada, passwordHash: 'strong' });
      const after = await userRow(tenantId);
      expect(after?.['row']).toEqual(before?.['row']);
      expect(after?.['valid_from']).toBe(4102444801);
      expect((await admin.passwordHashes(tenantId, ['ada'])).get('ada')?.imported).toBeDefined();
      expect((await listDeleted(database, 'user', tenantId, everything)).records).toEqual([]);
    });

    it('give an application back with its secrets, and with an end of what was issued before', async () => {
      const tenantId = fresh();
      const clientId = `${tenantId}-web`;
      const secrets = [
        { digest: 'one', expiresAt: undefined },
        { digest: 'two', expiresAt: 4102444800000 },
      ];
      const application = testApplication(clientId, { secrets });
      await make(testTenant(tenantId, { applications: [application] }));
      await query(
        `UPDATE directory.application_secret SET created_at = '2020-01-01', last_used_at = '2021-01-01'
          WHERE tenant_id = $1 AND digest = 'two'`,
        tenantId,
      );
      const rows = async () =>
        (
          await query(
            `SELECT digest, s.created_at, last_used_at, a.created_at AS of_application, a.valid_from > 0 AS has_end
               FROM directory.application_secret s JOIN directory.application a USING (tenant_id, client_id)
              WHERE tenant_id = $1 ORDER BY digest`,
            tenantId,
          )
        ).rows;
      const before = await rows();
      await make(testTenant(tenantId, { applications: [] }));
      const { record } = await restore(tenantId, clientId, 'application');
      expect(record).toEqual({ ...application, secrets: secrets.toReversed() });
      expect(await rows()).toEqual(before.map((row) => ({ ...row, has_end: true })));
    });

    it('are listed by name, page by page, and named if a record of that name is made', async () => {
      const tenantId = fresh();
      const names = ['bob', 'Eve', 'adam', 'ada', 'a b'];
      const users = names.map((username, at) =>
        testUser(`${at}`, { username, email: '', passwordHash: 'h' }),
      );
      await make(testTenant(tenantId, { ...people, users }));
      await make(testTenant(tenantId, { ...people, users: [] }));
      const listed = async (search: string, size: number) => {
        const found: string[] = [];
        let after: string | undefined = '';
        while (after !== undefined) {
          const page: DeletedPage<UserRecord> = await listDeleted(database, 'user', tenantId, {
            after,
            search,
            size,
          });
          expect(page.records.length).toBeLessThanOrEqual(size);
          found.push(...page.records.map(({ record }) => record.username));
          after = page.next;
        }
        return found;
      };
      for (const size of [1, 2, 10]) {
        expect(await listed('', size)).toEqual(['a b', 'ada', 'adam', 'bob', 'Eve']);
        expect(await listed('ada', size)).toEqual(['ada', 'adam']);
      }
      const asked = ['eve', 'ada', 'nobody'];
      expect(await deletedNames(database, 'user', tenantId, asked)).toEqual(new Set(['eve', 'ada']));
      expect(await deletedNames(database, 'application', tenantId, asked)).toEqual(new Set());
      expect(await deletedNames(database, 'user', 'another', asked)).toEqual(new Set());
      expect((await listDeleted(database, 'user', 'another', everything)).records).toEqual([]);
    });

    it('are restored for 30 days, and then forgotten', async () => {
      const tenantId = fresh();
      await make(testTenant(tenantId, people));
      await make(testTenant(tenantId, { ...people, users: [] }));
      await age(tenantId, 29);
      expect((await listDeleted(database, 'user', tenantId, everything)).records).toHaveLength(2);
      const gone: unknown[] = [];
      const purge = async () => purgeDeleted(database, 1000, async (_, people) => void gone.push(...people));
      await purge();
      expect(gone).not.toContainEqual({ tenantId, userId: 'usr_ada' });
      expect(await restore(tenantId, 'usr_bob')).toMatchObject({ record: { username: 'bob' } });
      await age(tenantId, 1);
      expect((await listDeleted(database, 'user', tenantId, everything)).records).toEqual([]);
      expect(await deletedNames(database, 'user', tenantId, ['ada'])).toEqual(new Set());
      await expect(restore(tenantId)).rejects.toMatchObject({
        code: Code.NotFound,
        rawMessage: 'The user, deleted within the last 30 days, is not known.',
      });
      await purge();
      expect(gone).toContainEqual({ tenantId, userId: 'usr_ada' });
      const { rows } = await query('SELECT FROM directory.deleted_record WHERE tenant_id = $1', tenantId);
      expect(rows).toEqual([]);
    });

    it('keep their client ID from other tenants, but not from their own', async () => {
      const [one, other] = [fresh(), fresh()];
      const applications = [testApplication(`${one}-web`)];
      await make(testTenant(one, { applications }));
      await make(testTenant(one, { applications: [] }));
      const taken = { kind: 'taken', values: [{ kind: 'clientId', value: `${one}-web` }] };
      expect(await make(testTenant(other, { applications }))).toEqual(taken);
      expect(await make(testTenant(one, { applications }))).toMatchObject({ kind: 'done' });
      await expect(restore(one, `${one}-web`, 'application')).rejects.toMatchObject({
        code: Code.AlreadyExists,
        rawMessage: expect.stringMatching(/^The application exists: .* client ID\.$/),
      });
      expect(await make(testTenant(other, { applications }))).toEqual(taken);
      await make(testTenant(one, { applications: [] }));
      await age(one, 30);
      expect(await make(testTenant(other, { applications }))).toMatchObject({ kind: 'done' });
    });

    it('are gone with their tenant, so that a later one of its id gets nothing of them', async () => {
      const tenantId = fresh();
      await make(testTenant(tenantId, people));
      const empty = testTenant(tenantId, { ...people, users: [], roles: [] });
      await make(empty);
      await records.delete(
        'tenant',
        { tenantId, validateOnly: false, id: tenantId, etag: '', writer: 'api', takeOver: true },
        call(),
      );
      await make(empty);
      expect((await listDeleted(database, 'user', tenantId, everything)).records).toEqual([]);
      await expect(restore(tenantId)).rejects.toMatchObject({ code: Code.NotFound });
    });

    it('are restored once by twenty restores at the same time', async () => {
      const tenantId = fresh();
      await make(testTenant(tenantId, people));
      for (let round = 0; round < 3; round += 1) {
        await make(testTenant(tenantId, { ...people, users: [testUser('bob')] }));
        const results = await Promise.allSettled(Array.from({ length: 20 }, () => restore(tenantId)));
        expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        for (const result of results)
          if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: Code.AlreadyExists });
      }
      const { rows } = await query(
        `SELECT count(*)::int AS times FROM directory.audit_event WHERE tenant_id = $1 AND event = 'user.restored'`,
        tenantId,
      );
      expect(rows).toEqual([{ times: 3 }]);
    });
  });
}
