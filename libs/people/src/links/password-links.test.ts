import { createHash } from 'node:crypto';
import { Code, ConnectError, fieldViolations } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { systemClock, systemRandom } from '@tessera/kit';
import { testDatabase, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAdminStore } from '@tessera/directory/records';
import { call, startDirectory } from '../testing/start-directory.ts';
import { migrations } from '@tessera/directory';
import { findLink, redeemLink } from './password-links.postgres.ts';

const password = 'a passphrase that eve chose';
const refusal = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => 'nothing',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConnectError)) throw new Error('It was not refused.', { cause: error });
  return [Code[error.code], ...fieldViolations(error).map(({ field }) => field)];
};
const gone = ['NotFound'];

linksContract('postgres', async () => testDatabase(migrations));

if (runsEverything) linksContract('pglite', async () => testEmbeddedDatabase(migrations));

/** What links do, on any engine. */
function linksContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  let count = 0;
  beforeAll(async () => {
    database = await open();
  });

  const query = async <R extends object>(name: string, text: string, ...values: unknown[]) =>
    (await database.query<R>({ name: `test.${name}`, text, values })).rows;

  /** A directory with a tenant in which eve has no password and bob has one. */
  async function world({ issuer = '', shared = {} } = {}) {
    const directory = startDirectory(database, shared);
    const { api, as, files } = directory;
    const tenantId = `${engine}${(count += 1)}`;
    await api.tenants.create({ tenantId, tenant: { tenantId, name: 'Acme', issuer } }, call());
    const user = async (fields: object) =>
      (await api.users.create({ tenantId, user: fields }, call())).userId;
    const userId = await user({ username: 'eve' });
    const bob = await user({ username: 'bob', password: 'a long password of bob' });
    const links = {
      uri: async (purpose = 'invitation', of = userId) =>
        (await api.users.createPasswordLink({ tenantId, userId: of, purpose }, call())).uri,
      async link(purpose?: string, of?: string) {
        return new URL(await links.uri(purpose, of), 'https://id.example').searchParams.get('link') ?? '';
      },
      find: async (link: string, at = '') => as('gateway').getPasswordLink({ link, tenantId: at }, call()),
      redeem: async (link: string, chosen = password, at = '') =>
        as('gateway').redeemPasswordLink(
          { link, password: chosen, tenantId: at, ipAddress: '192.0.2.1' },
          call(),
        ),
      signIn: async (identifier: string, chosen = password) =>
        as('authorize').verifyPassword({ tenantId, identifier, password: chosen }, call()),
    };
    return { api, files, tenantId, userId, bob, ...links };
  }

  describe(`a link with which a person sets their password, on ${engine}`, () => {
    it('sets it once, and ends what was issued to them before', async () => {
      const { link: newLink, tenantId, userId, find, redeem, signIn } = await world();
      const link = await newLink();
      expect(link).toMatch(/^tl_[\w-]{43}$/);
      expect(await find(link)).toMatchObject({ tenantId, tenantName: 'Acme', username: 'eve' });
      expect(await redeem(link)).toMatchObject({ passwordProblem: '' });
      expect((await signIn('eve')).user).toMatchObject({ userId });
      expect((await signIn('eve')).user?.validFrom).toBeGreaterThan(Date.now() / 1000 - 10);
      expect(await refusal(redeem(link))).toEqual(gone);
      expect(await refusal(find(link))).toEqual(gone);
      const [change] = await query(
        'newest_change',
        'SELECT id, ended FROM directory.change WHERE tenant_id = $1 ORDER BY sequence DESC LIMIT 1',
        tenantId,
      );
      expect(change).toEqual({ id: userId, ended: true });
    });

    it('has audit rows of its making and its use, and is itself nowhere in the database', async () => {
      const { link: newLink, tenantId, userId, redeem } = await world();
      const link = await newLink();
      const tables = ['password_link', 'audit_event', 'change', 'user_account'];
      const stored = async () =>
        JSON.stringify(
          await Promise.all(
            tables.map((table) =>
              query(`rows_of_${table}`, `SELECT r::text AS line FROM directory.${table} r`),
            ),
          ),
        );
      expect(await stored()).not.toContain(link.slice(3));
      await redeem(link);
      expect(await stored()).not.toContain(link.slice(3));
      expect(await stored()).not.toContain(password);
      const events = await query(
        'events_of_links',
        `SELECT event, record -> 'actor' AS actor, record ->> 'subject' AS subject, record ->> 'ipAddress' AS address,
                record -> 'details' ->> 'purpose' AS purpose
           FROM directory.audit_event WHERE tenant_id = $1 AND event LIKE 'auth.%' ORDER BY event DESC`,
        tenantId,
      );
      const used = { actor: { type: 'user', id: userId }, subject: userId, address: '192.0.2.1' };
      expect(events).toEqual([
        { event: 'auth.link.used', ...used, purpose: 'invitation' },
        {
          event: 'auth.link.created',
          actor: { type: 'operator', id: 'operator' },
          subject: userId,
          address: null,
          purpose: 'invitation',
        },
        { event: 'auth.credential.changed', ...used, purpose: null },
      ]);
    });

    it('is used once by many who use it at the same time (CVE-2026-73431)', async () => {
      const { link: newLink, userId, tenantId } = await world();
      for (let round = 0; round < 10; round += 1) {
        const digest = createHash('sha256')
          .update(await newLink('reset'))
          .digest();
        const person = await findLink(database, { digest, tenantId: '' });
        expect(person).toMatchObject({ userId });
        const uses = Array.from({ length: 10 }, async (_, at) => {
          const use = { digest, tenantId: '', passwordHash: `hash-${round}-${at}` };
          const origin = {
            person: { tenantId, purpose: 'reset' } as const,
            ipAddress: '192.0.2.1',
            requestId: 'a-request',
          };
          const runtime = { clock: systemClock, random: systemRandom, announce: async () => {} };
          return (await redeemLink(database, runtime, { ...use, ...origin })) ? [use.passwordHash] : [];
        });
        const won = (await Promise.all(uses)).flat();
        expect(won).toHaveLength(1);
        const [stored] = await query(
          'stored_hash',
          'SELECT password_hash FROM directory.user_account WHERE tenant_id = $1 AND user_id = $2',
          tenantId,
          userId,
        );
        expect(stored).toEqual({ password_hash: won[0] });
      }
      const [{ times } = { times: 0 }] = await query<{ times: number }>(
        'times_used',
        `SELECT count(*)::integer AS times FROM directory.audit_event WHERE tenant_id = $1 AND event = 'auth.link.used'`,
        tenantId,
      );
      expect(times).toBe(10);
    });

    it('refuses a password that the person may not have, and stays as it is', async () => {
      const { link: newLink, find, redeem, signIn } = await world();
      const link = await newLink();
      const problems = [
        ['short', 'must have at least 8 characters'],
        ['', 'must have at least 8 characters'],
        ['Password', 'is one of the most common passwords; choose another one'],
        ['x'.repeat(1025), 'must have at most 1024 characters'],
      ] as const;
      for (const [chosen, passwordProblem] of problems)
        expect(await redeem(link, chosen)).toMatchObject({ passwordProblem });
      expect(await find(link)).toMatchObject({ username: 'eve' });
      expect(await redeem(link, 'x'.repeat(1024))).toMatchObject({ passwordProblem: '' });
      expect((await signIn('eve', 'x'.repeat(1024))).user).toBeDefined();
    });

    it.each([
      [
        'it expires',
        async ({ userId }: World) => {
          await query(
            'age_link',
            `UPDATE directory.password_link SET expires_at = clock_timestamp() WHERE user_id = $1`,
            userId,
          );
        },
      ],
      ['a later one is made', async ({ uri }: World) => uri()],
      [
        'the password changes',
        async ({ api, tenantId, userId }: World) =>
          api.users.update({ tenantId, user: { userId, password: 'another long one' } }, call()),
      ],
      [
        'the person was locked meanwhile',
        async ({ api, tenantId, userId }: World) => {
          for (const status of ['locked', 'active'])
            await api.users.update({ tenantId, user: { userId, status } }, call());
        },
      ],
      [
        'the person is disabled',
        async ({ api, tenantId, userId }: World) =>
          api.users.update({ tenantId, user: { userId, status: 'disabled' } }, call()),
      ],
      [
        'the tenant is disabled',
        async ({ api, tenantId }: World) =>
          api.tenants.update({ tenantId, tenant: { status: 'disabled' } }, call()),
      ],
      [
        'all earlier sign-ins of the tenant end',
        async ({ tenantId }: World) => {
          const store = createAdminStore(database, { clock: systemClock, random: systemRandom });
          await store.bumpEpoch(tenantId, { event: 'epoch.bumped', outcome: 'success' });
        },
      ],
      [
        'the person is deleted',
        async ({ api, tenantId, userId }: World) => api.users.delete({ tenantId, userId }, call()),
      ],
      [
        'the person becomes an administrator',
        async ({ api, tenantId, userId }: World) =>
          api.users.update({ tenantId, user: { userId, roles: ['tessera.auditor'] } }, call()),
      ],
      [
        'another link of the person was used',
        async ({ link, redeem }: World) => redeem(await link('reset'), 'a password of the reset'),
      ],
    ] as const)('ends when %s', async (_when, ends) => {
      const tried = await world();
      const link = await tried.link();
      await ends(tried);
      expect(await refusal(tried.find(link))).toEqual(gone);
      expect(await refusal(tried.redeem(link))).toEqual(gone);
      expect((await tried.signIn('eve')).user).toBeUndefined();
    });

    it('stays when an administrator changes, or somebody gets a role of the tenant', async () => {
      const { api, tenantId, userId, link: newLink, find } = await world();
      await api.roles.create({ tenantId, role: { name: 'clerk' } }, call());
      for (const roles of [['tessera.auditor'], ['clerk', 'tessera.auditor']]) {
        await api.users.update({ tenantId, user: { userId, roles } }, call());
        const link = await newLink();
        await api.users.update(
          { tenantId, user: { userId, name: 'Eve', roles: ['clerk', ...roles].slice(-2) } },
          call(),
        );
        expect(await find(link)).toMatchObject({ username: 'eve' });
      }
    });

    it('leads to the issuer of its tenant, and is valid there alone', async () => {
      const shared = { TESSERA_ISSUER: 'https://id.example' };
      const issuer = `https://${engine}.acme.example/t/acme`;
      const own = await world({ issuer, shared });
      expect(await own.uri()).toMatch(new RegExp(`^${issuer}/password/link\\?link=tl_`));
      const link = await own.link();
      const other = await world({ shared });
      expect(await other.uri()).toMatch(/^https:\/\/id\.example\/password\/link\?link=tl_/);
      for (const at of ['', other.tenantId, 'nowhere']) {
        expect(await refusal(own.find(link, at))).toEqual(gone);
        expect(await refusal(own.redeem(link, password, at))).toEqual(gone);
      }
      expect(await own.redeem(link, password, own.tenantId)).toMatchObject({ passwordProblem: '' });
      const unset = await world();
      expect(await unset.uri()).toMatch(/^\/password\/link\?link=tl_/);
    });

    it('is made for active people of the tenant alone; an invitation for those without a password', async () => {
      const { api, tenantId, userId, bob, link: newLink, redeem, signIn } = await world();
      const other = await world();
      const create = async (fields: object) =>
        refusal(api.users.createPasswordLink({ tenantId, userId, purpose: 'reset', ...fields }, call()));
      expect(await create({ purpose: 'birthday' })).toEqual(['InvalidArgument', 'purpose']);
      expect(await create({ etag: 'another' })).toEqual(['Aborted']);
      expect(await create({ userId: other.userId })).toEqual(gone);
      expect(await create({ userId: 'usr_nobody' })).toEqual(gone);
      expect(await create({ tenantId: 'nowhere' })).toEqual(gone);
      expect(await create({ userId: bob, purpose: 'invitation' })).toEqual(['FailedPrecondition']);
      await redeem(await newLink('reset', bob), 'the new one of bob');
      expect((await signIn('bob', 'the new one of bob')).user?.userId).toBe(bob);
      await api.users.update({ tenantId, user: { userId: bob, status: 'disabled' } }, call());
      expect(await create({ userId: bob })).toEqual(['FailedPrecondition']);
      const validated = await api.users.createPasswordLink(
        { tenantId, userId, purpose: 'invitation', validateOnly: true },
        call(),
      );
      expect(validated.uri).toBe('');
      const made = 'SELECT FROM directory.password_link WHERE tenant_id = $1 AND user_id = $2';
      expect(await query('links_of', made, tenantId, userId)).toEqual([]);
    });

    it('is the only way in for a person who is invited, which no answer at sign-in reveals', async () => {
      const { link: newLink, signIn } = await world();
      const unknown = await signIn('nobody');
      await newLink();
      for (const tried of [password, '']) expect(await signIn('eve', tried)).toEqual(unknown);
    });

    it('sets a password that applying the same file again leaves as it is', async () => {
      const { files, tenantId, api, link: newLink, redeem, signIn } = await world();
      const hash =
        '$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$C8Lm0qNcTBIJq9RrEVYAfLGPqL4yv0m5QWJ4Yl8a2ec';
      const document = `tenants: [{ id: ${tenantId}, users: [{ username: ada, passwordHash: '${hash}' }] }]`;
      const apply = async () => files.apply({ document, fileName: 'state.yaml' }, call());
      await apply();
      const [ada] = (await api.users.list({ tenantId, search: 'ada' }, call())).users;
      await redeem(await newLink('reset', ada?.userId));
      expect((await apply()).tenants).toMatchObject([{ unchanged: true }]);
      expect((await signIn('ada')).user?.userId).toBe(ada?.userId);
    });
  });

  type World = Awaited<ReturnType<typeof world>>;
}
