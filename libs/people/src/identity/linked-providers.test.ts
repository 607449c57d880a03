import { randomBytes } from 'node:crypto';
import type { Database } from '@tessera/stores';
import { SoftwareAuthenticator, testDatabase, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startDirectory } from '../testing/start-directory.ts';
import { migrations } from '@tessera/directory';

const issuer = 'https://login.work.example';
const provider = { issuer, clientId: 'tessera', clientSecret: 'a-secret-that-only-the-provider-knows' };

linkContract('postgres', async () => testDatabase(migrations));
if (runsEverything) linkContract('pglite', async () => testEmbeddedDatabase(migrations));

/** The providers that people link to their accounts, on any engine. */
function linkContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  let count = 0;
  beforeAll(async () => {
    database = await open();
  });

  /** A tenant with the providers `work` and `club`, and two people with passwords. */
  async function world(rules: object = {}) {
    const { files, api, as, person: service } = startDirectory(database);
    const tenantId = `${engine}${(count += 1)}`;
    const declare = async (names: readonly string[], issuerOf = issuer) => {
      const providers = names.map((name) => ({ ...provider, ...rules, name, issuer: issuerOf }));
      const document = JSON.stringify({ tenants: [{ id: tenantId, name: 'Acme', providers }] });
      await files.apply({ document, fileName: 'state.yaml', allowDelete: true }, call());
    };
    await declare(['work', 'club']);
    const newPerson = async (username: string, password = 'a long password') => {
      const user = { username, ...(password !== '' && { password }) };
      return (await api.users.create({ tenantId, user }, call())).userId;
    };
    const [ada, bob] = [await newPerson('ada'), await newPerson('bob')];
    const authorize = as('authorize');
    const ipAddress = '203.0.113.9';
    return {
      api,
      ada,
      bob,
      tenantId,
      authorize,
      declare,
      newPerson,
      link: async (userId: string, subject: string, difference: object = {}) =>
        (
          await service.linkOwnProvider(
            { tenantId, userId, provider: 'work', issuer, subject, ipAddress, ...difference },
            call(),
          )
        ).refusal,
      unlink: async (userId: string, difference: object = {}) =>
        service.unlinkOwnProvider({ tenantId, userId, provider: 'work', ipAddress, ...difference }, call()),
      signIn: async (subject: string, name = 'work') =>
        authorize.signInWithProvider({ tenantId, provider: name, issuer, subject }, call()),
      /** Names of the providers that a person is linked to. */
      linked: async (userId: string) =>
        (await service.getCredentials({ tenantId, userId }, call())).providers
          .filter(({ linkTime }) => linkTime !== undefined)
          .map(({ name }) => name),
      credentials: async (userId: string) => service.getCredentials({ tenantId, userId }, call()),
      events: async (userId: string) =>
        (await service.listOwnEvents({ tenantId, userId, limit: 20 }, call())).events.map(
          ({ event }) => event,
        ),
      validFrom: async (userId: string) =>
        Number((await authorize.getUser({ tenantId, userId }, call())).user?.validFrom),
      async passkey(userId: string) {
        const origin = 'https://id.example';
        const ceremony = {
          rpId: 'id.example',
          origin,
          challenge: randomBytes(32).toString('base64url'),
        };
        const { options } = await authorize.proposePasskey({ tenantId, userId, ceremony }, call());
        const response = new SoftwareAuthenticator(origin, true).create(options);
        await authorize.enrolPasskey({ tenantId, userId, ceremony, response }, call());
        return (
          (await service.getCredentials({ tenantId, userId }, call())).passkeys.at(-1)?.credentialId ?? ''
        );
      },
      removePasskey: async (userId: string, credentialId: string) =>
        (await service.removeOwnFactor({ tenantId, userId, credentialId }, call())).refusal,
    };
  }

  describe(`a person who links a provider, on ${engine}`, () => {
    it('signs in with it from then on, with an audit row, and sees it among those of the tenant', async () => {
      const { ada, link, signIn, credentials, events, validFrom } = await world();
      expect((await signIn('s-1')).refusal).toBe('unknown');
      expect(await link(ada, 's-1')).toBe('');
      expect((await signIn('s-1')).user?.userId).toBe(ada);
      const { providers } = await credentials(ada);
      expect(
        providers.map(({ name, displayName, linkTime }) => [name, displayName, linkTime !== undefined]),
      ).toEqual([
        ['club', 'club', false],
        ['work', 'work', true],
      ]);
      expect(await events(ada)).toEqual(['auth.provider.linked']);
      expect(await validFrom(ada), 'nothing has ended').toBe(0);
      expect(await link(ada, 's-1'), 'again').toBe('');
      expect(await events(ada)).toHaveLength(1);
    });

    it('gets no identity of somebody else, nor a second one, nor one of another issuer or provider', async () => {
      const { ada, bob, link, linked, tenantId, api } = await world();
      await link(bob, 's-1');
      expect(await link(ada, 's-1')).toBe('taken');
      expect(await link(ada, 's-2')).toBe('');
      expect(await link(ada, 's-3')).toBe('taken');
      for (const foreign of [{ issuer: 'https://evil.example' }, { provider: 'gone' }])
        expect(await link(bob, 's-4', foreign)).toBe('provider');
      for (const subject of ['', 'ü', 'x'.repeat(256), 'a\u0001b'])
        expect(await link(bob, subject, { provider: 'club' })).toBe('provider');
      for (const nobody of [{ userId: 'usr_nobody' }, { tenantId: 'nobody' }])
        expect(await link(ada, 's-5', { provider: 'club', ...nobody })).toBe('inactive');
      await api.users.update({ tenantId, user: { userId: bob, status: 'disabled' } }, call());
      expect(await link(bob, 's-6', { provider: 'club' })).toBe('inactive');
      expect(await linked(ada)).toEqual(['work']);
    });

    it('is one of two people who link the same identity at the same time, in 20 rounds', async () => {
      const { ada, bob, link, signIn, unlink } = await world();
      for (let round = 0; round < 20; round += 1) {
        const subject = `s-${round}`;
        const outcomes = await Promise.all([ada, bob].map(async (userId) => link(userId, subject)));
        expect(outcomes.toSorted()).toEqual(['', 'taken']);
        const winner = outcomes[0] === '' ? ada : bob;
        expect((await signIn(subject)).user?.userId).toBe(winner);
        await unlink(winner);
      }
    });

    it('keeps one of two identities that they link at the same time', async () => {
      const { ada, link, signIn } = await world();
      const outcomes = await Promise.all(['s-1', 's-2'].map(async (subject) => link(ada, subject)));
      expect(outcomes.toSorted()).toEqual(['', 'taken']);
      const users = await Promise.all(['s-1', 's-2'].map(async (subject) => (await signIn(subject)).user));
      expect(users.filter((user) => user?.userId === ada)).toHaveLength(1);
    });

    it('has it, or a new account has it, if a first sign-in comes at the same time', async () => {
      const { ada, link, signIn } = await world({ createsAccounts: true });
      for (let round = 0; round < 10; round += 1) {
        const [refusal, { user }] = await Promise.all([
          link(ada, `s-${round}`, { provider: round % 2 === 0 ? 'work' : 'club' }),
          signIn(`s-${round}`, round % 2 === 0 ? 'work' : 'club'),
        ]);
        expect(user?.userId === ada).toBe(refusal === '');
        if (refusal === '') break;
      }
    });
  });

  describe(`a person who unlinks a provider, on ${engine}`, () => {
    it('can no longer sign in with it, and what was issued before ends', async () => {
      const { ada, bob, link, unlink, signIn, linked, validFrom, events } = await world();
      await link(ada, 's-1');
      await link(bob, 's-2');
      const { refusal, signedInAtMs } = await unlink(ada);
      expect(refusal).toBe('');
      expect(signedInAtMs).toBe(BigInt(await validFrom(ada)) * 1000n);
      expect(await validFrom(ada)).toBeGreaterThan(0);
      expect((await signIn('s-1')).refusal).toBe('unknown');
      expect([await linked(ada), await linked(bob)]).toEqual([[], ['work']]);
      expect(await validFrom(bob)).toBe(0);
      expect(await events(ada)).toEqual(['auth.provider.unlinked', 'auth.provider.linked']);
      expect((await unlink(ada)).refusal, 'again').toBe('unknown');
      // Somebody else may have it now.
      expect(await link(bob, 's-1', { provider: 'club' })).toBe('');
    });

    it('is refused where there is nothing of theirs, and nothing ends', async () => {
      const { ada, bob, link, unlink, linked, validFrom } = await world();
      await link(bob, 's-1');
      for (const nothing of [{}, { provider: 'gone' }, { tenantId: 'nobody' }])
        expect((await unlink(ada, nothing)).refusal).toBe('unknown');
      expect([await linked(bob), await validFrom(ada), await validFrom(bob)]).toEqual([['work'], 0, 0]);
    });

    it('keeps the last way to sign in, and finds a passkey or another provider enough', async () => {
      const { newPerson, link, unlink, linked, passkey, declare } = await world();
      const eve = await newPerson('eve', '');
      await link(eve, 's-1');
      expect((await unlink(eve)).refusal).toBe('last');
      await link(eve, 's-1', { provider: 'club' });
      // A provider that is no longer declared lets nobody in.
      await declare(['work']);
      expect((await unlink(eve)).refusal).toBe('last');
      expect(await linked(eve)).toEqual(['club', 'work']);
      await passkey(eve);
      expect((await unlink(eve)).refusal).toBe('');
      expect((await unlink(eve, { provider: 'club' })).refusal, 'one that is not declared').toBe('');
    });

    it('keeps one of two ways that are removed at the same time, in 12 rounds', async () => {
      const { newPerson, link, unlink, linked, passkey, removePasskey } = await world();
      for (let round = 0; round < 12; round += 1) {
        const eve = await newPerson(`eve-${round}`, '');
        if (round % 3 === 2) {
          const keys = [await passkey(eve), await passkey(eve)];
          const both = await Promise.all(keys.map(async (key) => removePasskey(eve, key)));
          expect(both.toSorted()).toEqual(['', 'last']);
          continue;
        }
        await link(eve, `s-${round}`);
        if (round % 3 === 0) {
          await link(eve, `s-${round}`, { provider: 'club' });
          const both = await Promise.all([unlink(eve), unlink(eve, { provider: 'club' })]);
          expect(both.map(({ refusal }) => refusal).toSorted()).toEqual(['', 'last']);
          expect(await linked(eve)).toHaveLength(1);
        } else {
          const key = await passkey(eve);
          const [{ refusal }, removed] = await Promise.all([unlink(eve), removePasskey(eve, key)]);
          expect([refusal, removed].toSorted()).toEqual(['', 'last']);
        }
      }
    });

    it('ends with or without the link if they link and unlink at once, and a sign-in meanwhile does not outlive it, in 20 rounds', async () => {
      const { ada, link, unlink, linked, signIn, validFrom } = await world();
      for (let round = 0; round < 20; round += 1) {
        await link(ada, 's-1');
        const [linking, unlinking, ...signedIn] = await Promise.all([
          link(ada, 's-1'),
          unlink(ada),
          signIn('s-1'),
          signIn('s-1'),
        ]);
        expect([linking, unlinking.refusal]).toEqual(['', '']);
        const isLinked = (await linked(ada)).length === 1;
        expect((await signIn('s-1')).user?.userId === ada).toBe(isLinked);
        if (isLinked) continue;
        const from = (await validFrom(ada)) * 1000;
        for (const { user, signedInAtMs } of signedIn)
          if (user !== undefined) expect(Number(signedInAtMs)).toBeLessThan(from);
      }
    });
  });

  if (engine !== 'postgres') return;
  it('refuses a sign-in that waited for the end of the link (EvalPlanQual keeps the rows that are not locked)', async () => {
    const { ada, tenantId, link, signIn } = await world();
    await link(ada, 's-1');
    const [locked, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const ending = database.transaction(async (tx) => {
      await tx.query({
        name: 'test.lock_person',
        text: 'SELECT FROM directory.user_account WHERE tenant_id = $1 AND user_id = $2 FOR UPDATE',
        values: [tenantId, ada],
      });
      locked.resolve();
      await mayEnd.promise;
      await tx.query({
        name: 'test.end_link',
        text: 'DELETE FROM directory.provider_identity WHERE tenant_id = $1 AND user_id = $2',
        values: [tenantId, ada],
      });
      await tx.query({
        name: 'test.end_sign_ins',
        text: 'UPDATE directory.user_account SET valid_from = valid_from + 1 WHERE tenant_id = $1 AND user_id = $2',
        values: [tenantId, ada],
      });
    });
    await locked.promise;
    const waiting = signIn('s-1');
    await waitUntilBlocked(database);
    mayEnd.resolve();
    await ending;
    expect((await waiting).refusal).toBe('inactive');
  });
}

async function waitUntilBlocked(database: Database): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const { rows } = await database.query({
      name: 'test.blocked_sign_ins',
      text: `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%AS signed_in_at%'
                AND datname = current_database()`,
    });
    if (rows.length > 0) return;
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error('no sign-in waits');
}
