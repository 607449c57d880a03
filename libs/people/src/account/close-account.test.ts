import type { Database } from '@tessera/stores';
import { testDatabase, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { mailWorld } from '../testing/mail-world.ts';
import { call } from '../testing/start-directory.ts';
import { migrations } from '@tessera/directory';

const administrator = 'tessera.administrator';

closingContract('postgres', async () => testDatabase(migrations));
if (runsEverything) closingContract('pglite', async () => testEmbeddedDatabase(migrations));

/** How people close their accounts, on any engine. */
function closingContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });

  async function world(options: Parameters<typeof mailWorld>[1] = {}) {
    const of = await mailWorld(database, { tenant: { accountClosing: true }, ...options });
    const { tenantId } = of;
    return {
      ...of,
      create: of.user,
      close: async (userId = of.userId, whose: object = {}) =>
        (await of.person.closeOwnAccount({ tenantId, userId, ipAddress: '203.0.113.9', ...whose }, call()))
          .refusal,
      get: async (userId = of.userId) => of.api.users.get({ tenantId, userId }, call()),
    };
  }

  describe(`a person who closes the account, on ${engine}`, () => {
    it('is deleted and told, can no longer sign in, and can be restored by an administrator', async () => {
      const of = await world({ eve: { locale: 'de' } });
      const { tenantId, userId } = of;
      const before = await of.signIn('eve', 'the first one of eve');
      expect(await of.close()).toBe('');
      await expect(of.get()).rejects.toThrow('not_found');
      expect(await of.signIn('eve', 'the first one of eve')).toBeUndefined();
      const [mail] = await of.smtp.gotAll(1);
      expect(mail?.recipients).toEqual(['eve@people.example']);
      expect(mail?.text).toContain('Ihr Konto eve wurde geschlossen');
      const by = { actor: { type: 'user', id: userId }, ipAddress: '203.0.113.9' };
      expect(await of.audited('user.deleted')).toMatchObject([{ subject: userId, record: by }]);
      expect(await of.close()).toBe('unknown');
      await of.api.users.undelete({ tenantId, userId }, call());
      const after = await of.signIn('eve', 'the first one of eve');
      // What was issued before stays invalid.
      expect(after?.validFrom).toBeGreaterThan(before?.validFrom ?? 0n);
    });

    it('stays if the tenant does not allow it, or a file declares the person', async () => {
      const of = await world({ tenant: {} });
      expect(await of.close()).toBe('not_allowed');
      for (const whose of [{ userId: 'usr_nobody' }, { tenantId: 'nobody' }])
        expect(await of.close(undefined, whose)).toBe('unknown');
      const tenantId = `${of.tenantId}-file`;
      const document = `tenants: [{ id: ${tenantId}, name: Acme, accountClosing: true, users: [{ username: ada }] }]`;
      await of.files.apply({ document, fileName: 'state.yaml' }, call());
      const { user } = await of.as('authorize').findUser({ tenantId, identifier: 'ada' }, call());
      expect(await of.close(user?.userId, { tenantId })).toBe('declared');
      expect((await of.get()).username).toBe('eve');
    });

    it('stays if they are not active', async () => {
      const of = await world({ eve: { status: 'locked' } });
      expect(await of.close()).toBe('unknown');
    });

    it('stays if the tenant would have no active administrator, of any number who leave at once', async () => {
      const of = await world({ eve: { roles: [administrator] } });
      const { tenantId } = of;
      expect(await of.close()).toBe('last_administrator');
      await of.create({ username: 'dan', roles: [administrator], status: 'disabled' });
      expect(await of.close()).toBe('last_administrator');
      const userId = await of.create({ username: 'ann', roles: [administrator] });
      expect(await of.close(), 'ann cannot sign in yet').toBe('last_administrator');
      await of.api.users.update({ tenantId, user: { userId, password: 'the first one of ann' } }, call());
      const others = await Promise.all(
        ['bob', 'cyd'].map((username) =>
          of.create({ username, roles: [administrator], password: `the first one of ${username}` }),
        ),
      );
      const refusals = await Promise.all([of.userId, userId, ...others].map((userId) => of.close(userId)));
      expect(refusals.toSorted()).toEqual(['', '', '', 'last_administrator']);
      const { users } = await of.api.users.list({ tenantId, pageSize: 10 }, call());
      expect(users.filter(({ status }) => status === 'active')).toHaveLength(1);
    });

    it('needs no address', async () => {
      const of = await world({ eve: { email: '' } });
      expect(await of.close()).toBe('');
      expect(await of.waiting()).toEqual([]);
    });
  });
}
