import { randomBytes } from 'node:crypto';
import { timestampMs } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { SoftwareAuthenticator, testDatabase, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { enrolApp, newRecoveryCodes } from '../testing/enrol-app.ts';
import { call, startDirectory } from '../testing/start-directory.ts';
import { migrations } from '@tessera/directory';

const origin = 'https://id.example';
const newCeremony = () => ({
  rpId: 'id.example',
  origin,
  challenge: randomBytes(32).toString('base64url'),
});

personContract('postgres', async () => testDatabase(migrations));
if (runsEverything) personContract('pglite', async () => testEmbeddedDatabase(migrations));

/** What people see and change of how they sign in, on any engine. */
function personContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  let count = 0;
  beforeAll(async () => {
    database = await open();
  });

  /** Two people of a tenant. */
  async function world() {
    const { files, api, as, person: service } = startDirectory(database);
    const tenantId = `${engine}${(count += 1)}`;
    await api.tenants.create({ tenantId, tenant: { name: 'Acme' } }, call());
    const newPerson = async (username: string) =>
      (await api.users.create({ tenantId, user: { username, password: 'a long password' } }, call())).userId;
    const [userId, otherId] = [await newPerson('eve'), await newPerson('bob')];
    const authorize = as('authorize');
    const person = { tenantId, userId };
    return {
      service,
      files,
      api,
      authorize,
      person,
      other: { tenantId, userId: otherId },
      credentials: async (whose = person) => service.getCredentials(whose, call()),
      /** Enrols a passkey, and uses it if that is asked. */
      async passkey({ isUsed = false, whose = person } = {}) {
        const key = new SoftwareAuthenticator(origin, true);
        const ceremony = newCeremony();
        const { options } = await authorize.proposePasskey({ ...whose, ceremony }, call());
        await authorize.enrolPasskey({ ...whose, ceremony, response: key.create(options) }, call());
        const next = newCeremony();
        if (isUsed)
          await authorize.verifyPasskey(
            { ...whose, userId: '', ceremony: next, response: key.get(next) },
            call(),
          );
        return (await service.getCredentials(whose, call())).passkeys.at(-1)?.credentialId ?? '';
      },
      async totp(whose = person) {
        await enrolApp(authorize, whose);
      },
      async events(event: string) {
        const { rows } = await database.query<{ record: object }>({
          name: 'test.events_of_person',
          text: 'SELECT record FROM directory.audit_event WHERE tenant_id = $1 AND event = $2 ORDER BY event_id',
          values: [tenantId, event],
        });
        return rows.map(({ record }) => record);
      },
    };
  }

  describe(`a person on ${engine}`, () => {
    it('sees passkeys with names and times, the app, and how many recovery codes are left', async () => {
      const { credentials, passkey, totp } = await world();
      expect(await credentials()).toMatchObject({ passkeys: [], hasTotp: false, recoveryCodes: 0 });
      await passkey({ isUsed: true });
      await passkey();
      await totp();
      const { passkeys, hasTotp, recoveryCodes } = await credentials();
      expect([passkeys.length, hasTotp, recoveryCodes]).toEqual([2, true, 10]);
      const [used, unused] = passkeys;
      expect(used?.name).toMatch(/^Passkey \d{4}-\d\d-\d\d$/);
      for (const time of [used?.createTime, used?.lastUseTime, unused?.createTime])
        expect(Math.abs(Number(time && timestampMs(time)) - Date.now())).toBeLessThan(60_000);
      expect(unused?.lastUseTime).toBeUndefined();
    });

    it('is not found if unknown, of another tenant or not active', async () => {
      const { service, api, person } = await world();
      const ask = (whose: object) => service.getCredentials({ ...person, ...whose }, call());
      for (const whose of [{ userId: 'usr_nobody' }, { tenantId: 'nobody' }])
        await expect(ask(whose)).rejects.toThrow('not_found');
      await api.users.update({ ...person, user: { userId: person.userId, status: 'disabled' } }, call());
      await expect(ask({})).rejects.toThrow('not_found');
    });

    it('changes the name, which ends nothing, with an audit row', async () => {
      const { service, api, person, credentials, events, authorize } = await world();
      await api.users.update({ ...person, user: { userId: person.userId, email: 'eve@x.example' } }, call());
      const change = async (name: string, whose: object = {}) =>
        (await service.changeOwnName({ ...person, name, ipAddress: '203.0.113.9', ...whose }, call()))
          .refusal;
      const before = (await authorize.getUser(person, call())).user?.validFrom;
      expect(await change(' Eve Adams ')).toBe('');
      expect(await credentials()).toMatchObject({
        name: 'Eve Adams',
        email: 'eve@x.example',
        emailVerified: false,
        declared: false,
      });
      expect((await authorize.getUser(person, call())).user?.validFrom).toBe(before);
      const by = { actor: { type: 'user', id: person.userId }, ipAddress: '203.0.113.9' };
      expect((await events('user.updated')).at(-1)).toMatchObject({ ...by, details: { changed: 'name' } });
      for (const name of ['', '  ', 'x'.repeat(201), 'a\nb']) expect(await change(name)).toBe('text');
      for (const whose of [{ userId: 'usr_nobody' }, { tenantId: 'nobody' }])
        expect(await change('Eve', whose)).toBe('unknown');
      await api.users.update({ ...person, user: { userId: person.userId, status: 'disabled' } }, call());
      expect(await change('Eve')).toBe('unknown');
    });

    it('keeps name and address of a person whom a file declares', async () => {
      const { service, files, person, authorize, credentials } = await world();
      const tenantId = `${person.tenantId}-file`;
      const document = `tenants: [{ id: ${tenantId}, name: Acme, users: [{ username: ada, name: Ada }] }]`;
      await files.apply({ document, fileName: 'state.yaml' }, call());
      const { user } = await authorize.findUser({ tenantId, identifier: 'ada' }, call());
      const declared = { tenantId, userId: user?.userId ?? '' };
      expect(await service.changeOwnName({ ...declared, name: 'Eve' }, call())).toMatchObject({
        refusal: 'declared',
      });
      expect(await credentials(declared)).toMatchObject({ name: 'Ada', declared: true });
    });

    it('removes a passkey or the app, which ends what was issued before, with an audit row', async () => {
      const { service, person, passkey, totp, credentials, events, authorize } = await world();
      const credentialId = await passkey();
      await totp();
      const remove = async (named: string) =>
        service.removeOwnFactor({ ...person, credentialId: named, ipAddress: '203.0.113.9' }, call());
      const validFrom = async () => Number((await authorize.getUser(person, call())).user?.validFrom);
      const before = await validFrom();
      const first = await remove(credentialId);
      expect(first.refusal).toBe('');
      const between = await validFrom();
      expect(between).toBeGreaterThan(before);
      expect(first.signedInAtMs).toBe(BigInt(between) * 1000n);
      expect(await credentials()).toMatchObject({ passkeys: [], hasTotp: true, recoveryCodes: 10 });
      expect((await remove('')).refusal).toBe('');
      expect(await validFrom()).toBeGreaterThan(between);
      // Recovery codes stand for a factor.
      expect(await credentials()).toMatchObject({ hasTotp: false, recoveryCodes: 0 });
      expect((await authorize.getUser(person, call())).user?.secondFactors).toEqual([]);
      const by = { actor: { type: 'user', id: person.userId }, ipAddress: '203.0.113.9' };
      expect(await events('auth.factor.removed')).toMatchObject([
        { ...by, subject: person.userId, details: { factor: 'passkey' } },
        { ...by, details: { factor: 'totp' } },
      ]);
    });

    it('removes nothing of anybody else, and nothing twice, and ends nothing then', async () => {
      const { service, person, other, passkey, authorize, credentials } = await world();
      const foreign = await passkey({ whose: other });
      const refusal = async (difference: object) =>
        (await service.removeOwnFactor({ ...person, ...difference }, call())).refusal;
      for (const named of [
        { credentialId: foreign },
        { credentialId: 'unknown' },
        { credentialId: '' },
        { credentialId: foreign, tenantId: 'nobody' },
      ])
        expect(await refusal(named)).toBe('unknown');
      expect((await credentials(other)).passkeys).toHaveLength(1);
      for (const whose of [person, other])
        expect((await authorize.getUser(whose, call())).user?.validFrom).toBe(0n);
      const mine = await passkey();
      const racing = await Promise.all([0, 1, 2].map(() => refusal({ credentialId: mine })));
      expect(racing.toSorted()).toEqual(['', 'unknown', 'unknown']);
    });

    it('keeps the only passkey of a person who has no password', async () => {
      const { service, api, passkey, person, credentials } = await world();
      const { userId } = await api.users.create(
        { tenantId: person.tenantId, user: { username: 'keyonly' } },
        call(),
      );
      const whose = { tenantId: person.tenantId, userId };
      const only = await passkey({ whose });
      const remove = async (credentialId: string) =>
        (await service.removeOwnFactor({ ...whose, credentialId }, call())).refusal;
      expect(await remove(only)).toBe('last');
      expect(await remove('unknown')).toBe('unknown');
      await passkey({ whose });
      expect(await remove(only)).toBe('');
      expect((await credentials(whose)).passkeys).toHaveLength(1);
    });

    it('gets recovery codes for a passkey too', async () => {
      const { authorize, person, passkey, credentials } = await world();
      expect(await newRecoveryCodes(authorize, person, 'too-early')).toEqual([]);
      await passkey();
      const [code = ''] = await newRecoveryCodes(authorize, person, 'codes');
      expect((await authorize.verifySecondFactor({ ...person, code }, call())).user).toMatchObject({
        userId: person.userId,
      });
      expect(await credentials()).toMatchObject({ recoveryCodes: 9 });
    });

    it('sees what happened to how they sign in, the latest first', async () => {
      const { service, person, other, passkey, totp } = await world();
      const credentialId = await passkey();
      await passkey({ whose: other });
      await totp();
      await service.removeOwnFactor({ ...person, credentialId, ipAddress: '203.0.113.9' }, call());
      const list = async (difference: object = {}) =>
        (await service.listOwnEvents({ ...person, limit: 20, ...difference }, call())).events;
      expect((await list()).map(({ event, factor }) => `${event} ${factor}`)).toEqual([
        'auth.factor.removed passkey',
        'auth.recovery_codes.replaced ',
        'auth.factor.added totp',
        'auth.factor.added passkey',
      ]);
      expect((await list({ limit: 1 }))[0]).toMatchObject({ ipAddress: '203.0.113.9' });
      for (const nobodys of [{ tenantId: 'nobody' }, { userId: 'nobody' }, { limit: -1 }])
        expect(await list(nobodys)).toEqual([]);
    });

    it('renames a passkey of theirs, with an audit row, and no other', async () => {
      const { service, person, other, passkey, credentials, events } = await world();
      const [credentialId, foreign] = [await passkey(), await passkey({ whose: other })];
      const rename = async (difference: object = {}) => {
        const renamed = { ...person, credentialId, name: 'Phone', ipAddress: '203.0.113.9', ...difference };
        return (await service.renameOwnPasskey(renamed, call())).found;
      };
      for (const refused of [
        { credentialId: foreign },
        { credentialId: 'unknown' },
        { tenantId: 'nobody' },
        { name: '' },
        { name: 'x'.repeat(65) },
      ])
        expect(await rename(refused)).toBe(false);
      expect(await events('auth.factor.renamed')).toEqual([]);
      expect(await rename()).toBe(true);
      expect((await credentials()).passkeys.map(({ name }) => name)).toEqual(['Phone']);
      expect(await events('auth.factor.renamed')).toMatchObject([
        {
          subject: person.userId,
          actor: { type: 'user', id: person.userId },
          ipAddress: '203.0.113.9',
          details: { factor: 'passkey' },
        },
      ]);
    });
  });
}
