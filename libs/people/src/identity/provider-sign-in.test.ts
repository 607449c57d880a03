import type { Database } from '@tessera/stores';
import { Code } from '@tessera/rpc';
import { testDatabase, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { mailedLink, purgeDeleted, putEmailProof } from '@tessera/directory/records';
import { migrations } from '@tessera/directory';
import { forgetPeople } from '../account/forget-people.ts';
import { call, startDirectory } from '../testing/start-directory.ts';

signInContract('postgres', async () => testDatabase(migrations));
if (runsEverything) signInContract('pglite', async () => testEmbeddedDatabase(migrations));

const issuer = 'https://login.work.example';
const clientSecret = 'a-secret-that-only-the-provider-knows';

/** Who gets in with a provider, on any engine. */
function signInContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  let count = 0;
  beforeAll(async () => {
    database = await open();
  });

  /** A tenant with the provider `work`. */
  async function world(rules: object = { createsAccounts: true }, users: readonly object[] = []) {
    const { files, api, as } = startDirectory(database);
    const tenantId = `${engine}${(count += 1)}`;
    const provider = { name: 'work', issuer, clientId: 'tessera', clientSecret };
    const declare = async (providers: readonly object[] = [{ ...provider, ...rules }]) => {
      const tenants = [{ id: tenantId, name: 'Acme', roles: ['clerk'], providers, users }];
      await files.apply(
        {
          document: JSON.stringify({ tenants }),
          fileName: 'state.yaml',
          allowDelete: true,
          allowAdministration: true,
        },
        call(),
      );
    };
    await declare();
    const authorize = as('authorize');
    const signIn = async (subject: string, claims: object = {}) =>
      authorize.signInWithProvider(
        { tenantId, provider: 'work', issuer, subject, ipAddress: '10.0.0.1', ...claims },
        call(),
      );
    return {
      api,
      authorize,
      tenantId,
      provider,
      declare,
      signIn,
      /** The user name of who is signed in, else why nobody is. */
      async outcome(subject: string, claims: object = {}) {
        const { user, refusal } = await signIn(subject, claims);
        return user?.username ?? refusal;
      },
      /** What somebody proves who follows a link that was mailed to their address. */
      async prove(email: string) {
        const [user] = (await api.users.list({ tenantId, search: email }, call())).users;
        await putEmailProof(database, { tenantId, userId: user?.userId ?? '' }, email, mailedLink);
      },
      async people() {
        const { users } = await api.users.list({ tenantId }, call());
        return users.map(({ username }) => username);
      },
      async events() {
        const { rows } = await database.query<{ event: string; details: object; subject: string }>({
          name: 'test.provider_sign_in_events',
          text: `SELECT event, record -> 'details' AS details, record ->> 'subject' AS subject
                   FROM directory.audit_event
                  WHERE tenant_id = $1 AND event IN ('user.created', 'auth.provider.linked') ORDER BY event_id`,
          values: [tenantId],
        });
        return rows;
      },
    };
  }

  const verified = (email: string) => ({ email, emailVerified: true });
  const linking = { linking: 'verified-email' };
  const ada = { username: 'ada', email: 'ada@acme.example', emailVerified: true };

  describe(`a sign-in with a provider, on ${engine}`, () => {
    it('makes an account at the first time, and finds it by `iss` and `sub` alone from then on (OIDC Core §5.7)', async () => {
      const { signIn, api, tenantId, events } = await world();
      const first = await signIn('s-1', {
        ...verified('eve@acme.example'),
        name: 'Eve',
        givenName: 'Eve',
        familyName: 'a\nb',
      });
      expect(first).toMatchObject({ refusal: '', user: { username: 'eve@acme.example', name: 'Eve' } });
      expect(first.signedInAtMs).toBeGreaterThanOrEqual((first.user?.validFrom ?? 0n) * 1000n);
      const userId = first.user?.userId ?? '';
      expect(await api.users.get({ tenantId, userId }, call())).toMatchObject({
        owner: 'api',
        email: 'eve@acme.example',
        emailVerified: true,
        givenName: 'Eve',
        familyName: '',
      });
      const later = await signIn('s-1', { ...verified('other@acme.example'), name: 'Other' });
      expect(later.user).toMatchObject({ userId, username: 'eve@acme.example', name: 'Eve' });
      expect((await signIn('S-1')).user?.userId).not.toBe(userId);
      expect((await events()).slice(0, 2)).toMatchObject([
        { event: 'user.created', subject: userId },
        { event: 'auth.provider.linked', subject: userId, details: { provider: 'work', account: 'new' } },
      ]);
    });

    it('is told whether signing out leads there, which it does not unless that is declared', async () => {
      const { authorize, tenantId, declare, provider } = await world();
      const signsOut = async () => (await authorize.getProvider({ tenantId, name: 'work' }, call())).signsOut;
      expect(await signsOut()).toBe(false);
      await declare([{ ...provider, signsOut: true }]);
      expect(await signsOut()).toBe(true);
    });

    it('makes none unless the provider may, and then leaves no trace', async () => {
      const { outcome, people, events } = await world({});
      expect(await outcome('s-1', verified('eve@acme.example'))).toBe('unknown');
      expect([await people(), await events()]).toEqual([[], []]);
    });

    it('makes one account in 20 racing first sign-ins, in 20 rounds', async () => {
      const { signIn, people } = await world();
      const emails = Array.from({ length: 20 }, (_, round) => `eve-${round}@acme.example`);
      for (const email of emails) {
        const all = await Promise.all(Array.from({ length: 20 }, () => signIn(email, verified(email))));
        expect(all.map(({ refusal }) => refusal)).toEqual(all.map(() => ''));
        expect(new Set(all.map(({ user }) => user?.userId)).size).toBe(1);
      }
      expect((await people()).toSorted()).toEqual(emails.toSorted());
    });

    it('gives one address to one of two racing identities', async () => {
      const { outcome, people } = await world();
      const outcomes = await Promise.all(
        ['s-1', 's-2'].map((subject) => outcome(subject, verified('eve@acme.example'))),
      );
      expect(outcomes.toSorted()).toEqual(['eve@acme.example', 'taken']);
      expect(await people()).toEqual(['eve@acme.example']);
    });

    it('keeps no address that is not verified, and links nobody by it (OIDC Core §5.7)', async () => {
      const { signIn, people } = await world({ ...linking, createsAccounts: true }, [ada]);
      const { user } = await signIn('s-1', { email: ada.email });
      expect(user).toMatchObject({
        email: '',
        username: expect.stringMatching(/^work:[\w-]{22}$/) as string,
      });
      expect(await people()).toHaveLength(2);
    });

    it('links a verified address by the rule of the provider alone, once', async () => {
      const { outcome, people, events, prove } = await world({ ...linking, createsAccounts: true }, [ada]);
      await prove(ada.email);
      expect(await outcome('s-1', verified('ADA@acme.example'))).toBe('ada');
      expect(await outcome('s-1')).toBe('ada');
      // The company has given the address to somebody else.
      expect(await outcome('s-2', verified(ada.email))).toBe('taken');
      expect(await people()).toEqual(['ada']);
      expect((await events()).at(-1)).toMatchObject({
        event: 'auth.provider.linked',
        details: { provider: 'work', account: 'linked' },
      });
    });

    it.each([
      ['the provider does not say so', {}, ada],
      ['the tenant did not verify the address', linking, { ...ada, emailVerified: false }],
      ['it is a user name there', linking, { username: ada.email }],
      ['the person administers the tenant', linking, { ...ada, roles: ['tessera.helpdesk'] }],
    ])('links no verified address if %s', async (_why, rules, person) => {
      const { outcome, people } = await world({ ...rules, createsAccounts: true }, [person]);
      expect(await outcome('s-1', verified(ada.email))).toBe('taken');
      expect(await people()).toEqual([person.username]);
    });

    const partner = {
      issuer: 'https://login.partner.example',
      clientId: 'tessera',
      clientSecret,
      createsAccounts: true,
      ...linking,
    };
    const cfo = 'cfo@acme.example';

    it.each([['partner.example'], []])(
      'keeps no address of a domain of another provider, whose owner is not linked to it: %s',
      async (...domains) => {
        const { declare, provider, signIn, api, tenantId } = await world();
        await declare([
          { ...provider, createsAccounts: true, ...linking, domains: ['acme.example'] },
          { ...partner, name: 'partner', domains },
        ]);
        const foreign = { provider: 'partner', issuer: partner.issuer };
        const theirs = await signIn('p-1', { ...foreign, ...verified(cfo) });
        expect(theirs.user).toMatchObject({
          email: '',
          username: expect.stringMatching(/^partner:/) as string,
        });
        const own = await signIn('s-1', verified(cfo));
        expect(own.user).toMatchObject({ email: cfo, username: cfo });
        expect(own.user?.userId).not.toBe(theirs.user?.userId);
        // In the other order nobody is linked either.
        for (const [subject, spelling] of [
          ['p-2', cfo],
          ['p-3', cfo.toUpperCase()],
        ] as const) {
          const again = await signIn(subject, { ...foreign, ...verified(spelling) });
          expect(again.user).toMatchObject({ email: '' });
        }
        const record = await api.users.get({ tenantId, userId: theirs.user?.userId ?? '' }, call());
        expect([record.email, record.emailVerified]).toEqual(['', undefined]);
      },
    );

    it('keeps an address of its own domains, and without domains one of no other provider', async () => {
      const { declare, provider, signIn } = await world();
      await declare([
        { ...provider, createsAccounts: true, domains: ['acme.example'] },
        { ...partner, name: 'partner' },
      ]);
      const foreign = { provider: 'partner', issuer: partner.issuer };
      expect((await signIn('p-1', { ...foreign, ...verified('eve@elsewhere.example') })).user?.email).toBe(
        'eve@elsewhere.example',
      );
      expect((await signIn('s-1', verified('eve@elsewhere.example'))).user?.email).toBe('');
    });

    it('links nobody whose address came by a provider that does not vouch for it now', async () => {
      const { declare, provider, signIn, outcome } = await world();
      await declare([{ ...partner, name: 'partner' }]);
      const foreign = { provider: 'partner', issuer: partner.issuer };
      expect((await signIn('p-1', { ...foreign, ...verified(cfo) })).user?.email).toBe(cfo);
      await declare([
        { ...provider, createsAccounts: true, ...linking, domains: ['acme.example'] },
        { ...partner, name: 'partner', domains: ['partner.example'] },
      ]);
      expect(await outcome('s-1', verified(cfo))).toBe('taken');
    });

    it('refuses who is disabled, locked or deleted, at the first time and later', async () => {
      const { api, tenantId, signIn, outcome } = await world({ ...linking, createsAccounts: true }, [
        { ...ada, status: 'disabled' },
      ]);
      expect(await outcome('s-1', verified(ada.email))).toBe('inactive');
      const { user } = await signIn('s-2', verified('eve@acme.example'));
      const userId = user?.userId ?? '';
      for (const status of ['disabled', 'locked', 'active']) {
        await api.users.update({ tenantId, user: { userId, status } }, call());
        expect(await outcome('s-2')).toBe(status === 'active' ? 'eve@acme.example' : 'inactive');
      }
      await api.users.delete({ tenantId, userId }, call());
      expect(await outcome('s-2')).toBe('inactive');
      expect(await outcome('s-3', verified('eve@acme.example'))).toBe('inactive');
      await api.users.undelete({ tenantId, userId }, call());
      expect((await signIn('s-2')).user?.userId).toBe(userId);
      await api.tenants.update({ tenantId, tenant: { status: 'disabled' }, takeOver: true }, call());
      expect([await outcome('s-2'), await outcome('s-4')]).toEqual(['inactive', 'inactive']);
    });

    it('lets nobody who was deleted come back by an address, whatever their user name', async () => {
      const { api, tenantId, outcome, people } = await world();
      const { userId } = await api.users.create({ tenantId, user: ada }, call());
      await api.users.delete({ tenantId, userId }, call());
      expect(await outcome('s-1', verified('ADA@acme.example'))).toBe('inactive');
      expect(await people()).toEqual([]);
    });

    it('makes nobody whom programs would take for somebody else by the address', async () => {
      const { api, tenantId, outcome, people } = await world();
      const user = { ...ada, preferredUsername: 'Cfo@acme.example' };
      await api.users.create({ tenantId, user }, call());
      expect(await outcome('s-1', verified('cfo@acme.example'))).toBe('taken');
      expect(await people()).toEqual(['ada']);
    });

    it('is dated at or after a change that ends earlier sign-ins', async () => {
      const { api, tenantId, signIn } = await world();
      const userId = (await signIn('s-1')).user?.userId ?? '';
      await api.users.update({ tenantId, user: { userId, status: 'disabled' } }, call());
      await api.users.update({ tenantId, user: { userId, status: 'active' } }, call());
      const { user, signedInAtMs } = await signIn('s-1');
      expect(signedInAtMs).toBeGreaterThanOrEqual((user?.validFrom ?? 0n) * 1000n);
    });

    it('is for the issuer of the provider, and for its tenant (RFC 9207 §2.4)', async () => {
      const { outcome, declare, provider, tenantId, authorize } = await world();
      const { outcome: elsewhere } = await world();
      const name = await outcome('s-1');
      expect(await outcome('s-1', { issuer: 'https://evil.example' })).toBe('provider');
      expect(await outcome('s-1', { provider: 'play' })).toBe('provider');
      expect(await elsewhere('s-1', { tenantId: 'nobody' })).toBe('inactive');
      // Another issuer under the same name knows other people by the same `sub`.
      const moved = { ...provider, issuer: 'https://new.example', createsAccounts: true };
      await declare([moved]);
      expect(await outcome('s-1')).toBe('inactive');
      expect(await outcome('s-2')).toBe('provider');
      const other = await outcome('s-1', { issuer: moved.issuer });
      expect(other).toMatch(/^work:/);
      expect(other).not.toBe(name);
      await declare([]);
      expect(await outcome('s-1', { issuer: moved.issuer })).toBe('inactive');
      expect((await authorize.listProviders({ tenantId }, call())).providers).toEqual([]);
    });

    it.each(['', 'a\u0001b', 'ä', 'x'.repeat(256)])(
      'takes no `sub` such as %.9j (OIDC Core §2)',
      async (subject) => {
        const { outcome, people } = await world();
        expect(await outcome(subject)).toBe('unknown');
        expect(await people()).toEqual([]);
      },
    );

    it('forgets whose identity it was when the person can no longer be restored', async () => {
      const { api, tenantId, signIn } = await world();
      const userId = (await signIn('s-1')).user?.userId ?? '';
      await api.users.delete({ tenantId, userId }, call());
      await database.query({
        name: 'test.age_deleted',
        text: `UPDATE directory.deleted_record SET deleted_at = now() - interval '31 days' WHERE tenant_id = $1`,
        values: [tenantId],
      });
      await purgeDeleted(database, 100, forgetPeople);
      const { user } = await signIn('s-1');
      expect(user?.userId).toMatch(/^usr_/);
      expect(user?.userId).not.toBe(userId);
    });

    describe('with mapped claims', () => {
      const mapping = {
        createsAccounts: true,
        roleMappings: [
          { claim: 'groups', value: 'finance', role: 'clerk' },
          { claim: 'groups', value: 'gone', role: 'a role that nobody declared' },
        ],
        attributeMappings: { department: 'dept', sites: 'sites' },
      };
      const said = (
        claims: Record<string, string | string[]>,
        knownClaims = ['groups', 'dept', 'sites'],
      ) => ({
        claims,
        knownClaims,
      });

      it('gives and takes roles and attributes at each sign-in, with an audit row', async () => {
        const { signIn, events } = await world(mapping);
        const first = await signIn(
          's-1',
          said({ groups: ['finance', 'gone'], dept: 'F', sites: ['a', 'b'] }),
        );
        expect(first.user).toMatchObject({
          roles: ['clerk'],
          attributes: { department: 'F', sites: ['a', 'b'] },
        });
        const unmapped = await signIn('s-1');
        expect(unmapped.user?.roles, 'an authorize that does not know claims').toEqual(['clerk']);
        const second = await signIn('s-1', said({ groups: 'sales', dept: 'S' }));
        expect(second.user?.roles).toEqual([]);
        expect(second.user?.attributes).toEqual({ department: 'S' });
        expect((await signIn('s-1', said({}))).user?.attributes).toBeUndefined();
        expect((await events()).map(({ event }) => event)).toContain('user.created');
      });

      it('keeps what a claim decides that the provider left out, and says so (group overage, OIDC Core §5.6.2)', async () => {
        const { signIn, tenantId } = await world(mapping);
        await signIn('s-1', said({ groups: ['finance'] }));
        const { user } = await signIn('s-1', said({ dept: 'F' }, ['dept', 'sites']));
        expect(user).toMatchObject({ roles: ['clerk'], attributes: { department: 'F' } });
        const { rows } = await database.query({
          name: 'test.incomplete',
          text: `SELECT record -> 'details' AS details FROM directory.audit_event
                  WHERE tenant_id = $1 AND event = 'auth.provider.incomplete'`,
          values: [tenantId],
        });
        expect(rows).toEqual([{ details: { provider: 'work', claims: 'groups' } }]);
      });

      it('leaves the people whom a file declares, and never gives a built-in role', async () => {
        const { signIn, declare, provider, prove } = await world({ ...mapping, ...linking }, [ada]);
        await prove(ada.email);
        const linked = await signIn('s-1', {
          ...verified('ada@acme.example'),
          ...said({ groups: ['finance'], dept: 'F' }),
        });
        expect([linked.user?.username, linked.user?.roles]).toEqual(['ada', []]);
        const roleMappings = [{ claim: 'groups', value: 'x', role: 'tessera.administrator' }];
        await expect(declare([{ ...provider, ...mapping, roleMappings }])).rejects.toThrow(/tessera/);
      });
    });

    it('reads the providers of the tenant, and the secret of one', async () => {
      const { authorize, tenantId } = await world({ domains: ['acme.example'], displayName: 'Work' });
      expect((await authorize.listProviders({ tenantId }, call())).providers).toMatchObject([
        { name: 'work', displayName: 'Work', domains: ['acme.example'] },
      ]);
      const found = await authorize.getProvider({ tenantId, name: 'work' }, call());
      expect(found).toMatchObject({ issuer, clientId: 'tessera', clientSecret, preset: 'none' });
      expect(found.scopes).toEqual(['openid', 'profile', 'email']);
      for (const unknown of [
        { tenantId, name: 'play' },
        { tenantId: 'nobody', name: 'work' },
      ])
        await expect(authorize.getProvider(unknown, call())).rejects.toMatchObject({ code: Code.NotFound });
    });
  });
}
