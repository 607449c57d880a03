import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Code, ConnectError, fieldViolations } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { atEndOfFile, silentLog } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { giveIdentity, givePasskey, putProvider } from '../testing/give-ways-in.ts';
import { call, startDirectory } from '../testing/start-directory.ts';
import { bootstrapAtStart } from './bootstrap-at-start.ts';

const password = 'a passphrase of the first administrator';
const role = 'tessera.administrator';
const company = {
  name: 'company',
  issuer: 'https://company.example',
  clientId: 'tessera',
  clientSecret: 'a-secret-that-only-the-provider-knows',
};

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof ConnectError ? Code[error.code] : String(error)),
  );

/** How the first administrator is made, and never another one, on a database of one kind. */
export function firstAdministratorContract(engine: string, open: () => Promise<Database>): void {
  describe(engine, () => {
    let database: Database;
    let count = 0;
    beforeAll(async () => {
      database = await open();
    });

    /** A directory whose operator tenant does not exist yet. */
    function installed() {
      const tenantId = `operators${(count += 1)}`;
      const directory = startDirectory(database, { TESSERA_OPERATOR_TENANT: tenantId });
      const { bootstrap, api, as } = directory;
      const ask = async (person: object = {}) => bootstrap.createFirstAdministrator(person, call());
      return {
        ...directory,
        tenantId,
        ask,
        /** Another process on the same database. */
        again: () => startDirectory(database, { TESSERA_OPERATOR_TENANT: tenantId }).bootstrap,
        administrator: async (username: string) =>
          (await api.users.create({ tenantId, user: { username, roles: [role] } }, call())).userId,
        remove: async (userId: string) => api.users.delete({ tenantId, userId }, call()),
        link: async (person: object = {}) =>
          new URL((await ask(person)).uri, 'https://id.example').searchParams.get('link') ?? '',
        find: async (link: string) => as('gateway').getPasswordLink({ link }, call()),
        redeem: async (link: string) =>
          as('gateway').redeemPasswordLink({ link, password, ipAddress: '192.0.2.1' }, call()),
        signIn: async (identifier: string, chosen = password) =>
          (await as('authorize').verifyPassword({ tenantId, identifier, password: chosen }, call())).user,
        people: async () => (await api.users.list({ tenantId }, call())).users,
        make: async (fields: object) => api.users.create({ tenantId, user: fields }, call()),
        events: async () =>
          (
            await database.query<{ event: string; purpose: string | null }>({
              name: 'test.events_of_bootstrap',
              text: `SELECT event, record -> 'details' ->> 'purpose' AS purpose FROM directory.audit_event
                  WHERE tenant_id = $1 ORDER BY recorded_at, event`,
              values: [tenantId],
            })
          ).rows.map(({ event, purpose }) => (purpose === null ? event : `${event} ${purpose}`)),
      };
    }

    type Installed = ReturnType<typeof installed>;
    const run = async (text: string, ...values: unknown[]) =>
      database.query({
        name: `test.${createHash('sha256').update(text).digest('hex').slice(0, 16)}`,
        text,
        values,
      });
    const invite = async ({ api, tenantId }: Installed, userId: string) => {
      await api.users.createPasswordLink({ tenantId, userId, purpose: 'invitation' }, call());
    };
    /** What an administrator has to sign in with. */
    const waysIn: readonly (readonly [string, (on: Installed, userId: string) => Promise<unknown>])[] = [
      [
        'a password',
        async ({ api, tenantId }, userId) =>
          api.users.update({ tenantId, user: { userId, password } }, call()),
      ],
      ['a passkey', async ({ tenantId }, userId) => givePasskey(database, { tenantId, userId })],
      [
        'an identity at a provider',
        async ({ tenantId }, userId) => {
          await putProvider(database, tenantId, 'company');
          await giveIdentity(database, { tenantId, userId }, 'company');
        },
      ],
      ['an invitation', invite],
      [
        'a link to a new password',
        async ({ api, tenantId }, userId) =>
          api.users.createPasswordLink({ tenantId, userId, purpose: 'reset' }, call()),
      ],
    ];

    describe('the link of the first administrator', () => {
      it('sets the password of a new person who administers, in a tenant that it brings', async () => {
        const on = installed();
        const before = Date.now() / 1000;
        const { username, tenantId, uri, expireTime } = await on.ask();
        expect({ username, tenantId }).toEqual({ username: 'admin', tenantId: on.tenantId });
        expect(Number(expireTime?.seconds) - before).toBeGreaterThan(24 * 3600 - 60);
        expect(Number(expireTime?.seconds) - before).toBeLessThan(24 * 3600 + 60);
        expect(await on.signIn('admin')).toBeUndefined();
        const link = new URL(uri, 'https://id.example').searchParams.get('link') ?? '';
        expect(await on.find(link)).toMatchObject({ tenantName: 'Operators', purpose: 'invitation' });
        await on.redeem(link);
        expect(await on.signIn('admin')).toMatchObject({ roles: [role] });
        expect(await codeOf(on.redeem(link))).toBe('NotFound');
        expect((await on.events()).toSorted()).toEqual(
          expect.arrayContaining([
            'auth.link.created bootstrap',
            'auth.link.used bootstrap',
            'tenant.created',
            'user.created',
          ]),
        );
      });

      it('ends with the next one, for the same person or another', async () => {
        const on = installed();
        const links = [await on.link(), await on.link(), await on.link({ username: 'root' })];
        for (const ended of links.slice(0, 2)) expect(await codeOf(on.find(ended))).toBe('NotFound');
        expect((await on.people()).map(({ username }) => username)).toEqual(['admin', 'root']);
        expect(await on.find(links[2] ?? '')).toMatchObject({ username: 'root' });
      });

      it('is made and works only while nobody administers the tenant', async () => {
        const on = installed();
        const link = await on.link();
        await on.make({ username: 'clerk', password });
        expect(await on.find(link)).toMatchObject({ username: 'admin' });
        await on.make({ username: 'root', password, roles: [role] });
        const events = await on.events();
        expect(await codeOf(on.find(link))).toBe('NotFound');
        expect(await codeOf(on.redeem(link))).toBe('NotFound');
        expect(await codeOf(on.ask())).toBe('FailedPrecondition');
        expect(await codeOf(on.ask({ username: 'mallory', password }))).toBe('FailedPrecondition');
        expect(await on.events()).toEqual(events);
        expect(await on.signIn('admin')).toBeUndefined();
      });

      it.each(waysIn)('is neither made nor works while an administrator has %s alone', async (_way, give) => {
        const on = installed();
        const link = await on.link();
        const userId = await on.administrator('root');
        expect(await on.find(link)).toMatchObject({ username: 'admin' });
        await give(on, userId);
        expect(await codeOf(on.find(link))).toBe('NotFound');
        expect(await codeOf(on.redeem(link))).toBe('NotFound');
        expect(await codeOf(on.ask())).toBe('FailedPrecondition');
        expect(await codeOf(on.ask({ username: 'mallory', password }))).toBe('FailedPrecondition');
      });

      it.each(waysIn)('does not come back when the administrator with %s is deleted', async (_way, give) => {
        const on = installed();
        const link = await on.link();
        const userId = await on.administrator('root');
        await give(on, userId);
        await on.remove(userId);
        expect(await codeOf(on.redeem(link))).toBe('NotFound');
        expect(await codeOf(on.ask())).toBe('FailedPrecondition');
      });

      it.each([
        ['is removed', []],
        ['has another issuer', [{ ...company, issuer: 'https://moved.example' }]],
      ])('does not come back when the provider %s that was all an administrator had', async (_how, left) => {
        const on = installed();
        const declare = async (providers: readonly object[]) => {
          const document = JSON.stringify({ tenants: [{ id: on.tenantId, name: 'Operators', providers }] });
          await on.files.apply({ document, fileName: 'state.yaml', allowDelete: true }, call());
        };
        await declare([company]);
        const userId = await on.administrator('root');
        const link = await on.link();
        await giveIdentity(database, { tenantId: on.tenantId, userId }, 'company');
        await declare(left);
        expect(await codeOf(on.redeem(link))).toBe('NotFound');
        expect(await codeOf(on.ask())).toBe('FailedPrecondition');
      });

      it('does not come back when its person, the only administrator, is deleted', async () => {
        const on = installed();
        await on.redeem(await on.link());
        for (const { userId } of await on.people()) await on.remove(userId);
        await expect(on.ask()).rejects.toThrow('tessera user create --roles tessera.administrator');
        expect(await on.people()).toEqual([]);
      });

      it('comes back after an invitation that nobody used in time', async () => {
        const on = installed();
        await on.link();
        const userId = await on.administrator('root');
        await invite(on, userId);
        await run(
          "UPDATE directory.password_link SET expires_at = clock_timestamp() - interval '1 second' WHERE user_id = $1",
          userId,
        );
        expect(await on.find(await on.link())).toMatchObject({ username: 'admin' });
      });

      it('is for nobody who exists without the role', async () => {
        const on = installed();
        await on.link();
        await on.make({ username: 'clerk' });
        expect(await codeOf(on.ask({ username: 'Clerk' }))).toBe('FailedPrecondition');
      });

      it('needs an operator tenant', async () => {
        const { bootstrap } = startDirectory(database);
        await expect(bootstrap.createFirstAdministrator({}, call())).rejects.toThrow(
          'Set TESSERA_OPERATOR_TENANT',
        );
      });

      it('lets one of many become the administrator, whichever way they try', async () => {
        for (let round = 0; round < 5; round += 1) {
          const on = installed();
          const link = await on.link();
          const tries = Array.from({ length: 6 }, (_, at) =>
            at % 2 === 0 ? on.redeem(link) : on.ask({ username: `root${at}`, password }),
          );
          const outcomes = await Promise.all(tries.map(codeOf));
          expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1);
          const usernames = (await on.people()).map(({ username }) => username);
          const able = await Promise.all(usernames.map(async (name) => on.signIn(name)));
          expect(able.filter((user) => user !== undefined)).toHaveLength(1);
        }
      });
    });

    describe('a first administrator in a file', () => {
      let directory: string;
      beforeAll(async () => {
        directory = await mkdtemp(join(tmpdir(), 'tessera-bootstrap-'));
        atEndOfFile(async () => rm(directory, { recursive: true }));
      });
      const start = async ({ bootstrap }: Pick<Installed, 'bootstrap'>, content?: string) => {
        const file = join(directory, `admin-${(count += 1)}.yaml`);
        if (content !== undefined) await writeFile(file, content);
        await bootstrapAtStart({ file, bootstrap, call: call(), log: silentLog() });
      };

      it('is made at the first start and left alone at the next', async () => {
        const on = installed();
        await start(on, `{ username: root, email: root@ops.example, password: ${password} }`);
        const made = await on.signIn('root@ops.example');
        expect(made).toMatchObject({ username: 'root', roles: [role] });
        await start(on, '{ username: root, password: another passphrase of root }');
        expect(await on.signIn('root')).toMatchObject({ userId: made?.userId });
        expect(await on.people()).toHaveLength(1);
      });

      it('does not come back at a restart after it was deleted and the others have passkeys', async () => {
        const on = installed();
        const file = `{ username: root, password: ${password} }`;
        await start(on, file);
        const [root] = await on.people();
        const [, givePasskey] = waysIn.find(([way]) => way === 'a passkey') ?? [];
        await givePasskey?.(on, await on.administrator('second'));
        await on.remove(root?.userId ?? '');
        await start({ bootstrap: on.again() }, file);
        expect((await on.people()).map(({ username }) => username)).toEqual(['second']);
        for (const { userId } of await on.people()) await on.remove(userId);
        await start({ bootstrap: on.again() }, file);
        expect(await on.people()).toEqual([]);
      });

      it('is one person when many processes start at once with different files', async () => {
        for (let round = 0; round < 3; round += 1) {
          const on = installed();
          const processes = Array.from({ length: 4 }, () => on.again());
          await Promise.all(
            processes.map(async (bootstrap, at) =>
              start({ bootstrap }, `{ username: root${at}, password: ${password} }`),
            ),
          );
          expect(await on.people()).toHaveLength(1);
        }
      });

      it('gets the password of the file in place of a link that was printed before', async () => {
        const on = installed();
        const link = await on.link();
        await start(on, `{ password: ${password} }`);
        expect(await on.signIn('admin')).toMatchObject({ roles: [role] });
        expect(await codeOf(on.redeem(link))).toBe('NotFound');
      });

      it.each([
        ['that is not there', undefined, 'it cannot be read (ENOENT)'],
        ['without a password', 'username: root', 'either password or passwordHash'],
        ['with an unknown key', `{ password: ${password}, roles: [x] }`, 'roles'],
        ['with a weak password', 'password: short', 'user.password must have at least 8 characters'],
        ['that is no YAML', '{ password: "not to be shown', 'it is not YAML'],
      ])('%s fails the start, without what it says', async (_which, content, reason) => {
        const on = installed();
        const failure = await start(on, content).catch((error: unknown) => error);
        expect(String(failure)).toContain(reason);
        expect(String(failure)).not.toMatch(/not to be shown|a passphrase/);
      });

      it('has mistakes that name the field', async () => {
        const { bootstrap } = installed();
        const failure = await bootstrap
          .createFirstAdministrator({ email: 'nobody' }, call())
          .catch((error: unknown) => error);
        expect(fieldViolations(failure as ConnectError)).toMatchObject([{ field: 'user.email' }]);
      });
    });
  });
}
