import type { Database } from '@tessera/stores';
import { Code, ConnectError } from '@tessera/rpc';
import { eventually, testDatabase, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { newRecoveryCodes } from '../testing/enrol-app.ts';
import { call } from '../testing/start-directory.ts';
import { mailWorld } from '../testing/mail-world.ts';
import { migrations } from '@tessera/directory';

const newAddress = 'eve@new.example';
const codeOf = async (work: Promise<unknown>) =>
  work.then(
    () => 'nothing',
    (error: unknown) => (error instanceof ConnectError ? Code[error.code] : String(error)),
  );

emailContract('postgres', async () => testDatabase(migrations));
if (runsEverything) emailContract('pglite', async () => testEmbeddedDatabase(migrations));

/** How people confirm their addresses, on any engine. */
function emailContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });

  async function world(options: Parameters<typeof mailWorld>[1] = {}) {
    const of = await mailWorld(database, options);
    const gateway = of.as('gateway');
    const person = { tenantId: of.tenantId, userId: of.userId };
    return {
      ...of,
      propose: async (email: string, fields: object = {}) =>
        of
          .as('authorize')
          .proposeEmail({ ...person, email, language: 'en', ipAddress: '192.0.2.1', ...fields }, call()),
      find: async (link: string, fields: object = {}) =>
        gateway.getEmailLink({ ...person, link, ...fields }, call()),
      confirm: async (link: string, fields: object = {}) =>
        gateway.confirmEmail({ ...person, link, ipAddress: '192.0.2.1', ...fields }, call()),
      user: async () => (await gateway.getUser(person, call())).user,
      create: of.user,
    };
  }
  const linkIn = (mail: { readonly link: string } | undefined) =>
    new URL(mail?.link ?? '').searchParams.get('link') ?? '';

  describe(`a person who changes the email address, on ${engine}`, () => {
    it('confirms the new one by a link that is mailed there, once, and the former one is told', async () => {
      const of = await world();
      await of.forget('eve');
      const [reset] = await of.smtp.gotAll(1);
      await of.propose(` ${newAddress}`);
      const [, mail] = await of.smtp.gotAll(2);
      expect(mail).toMatchObject({
        recipients: [newAddress],
        headers: { subject: 'Your email address at Acme' },
      });
      expect(mail?.link).toMatch(/^https:\/\/id\.example\/email\/link\?link=te_[\w-]{43}$/);
      const link = linkIn(mail);
      expect(await of.find(link)).toMatchObject({ email: newAddress });
      expect((await of.user())?.email).toBe('eve@people.example');
      const answers = await Promise.all(Array.from({ length: 5 }, () => codeOf(of.confirm(link))));
      expect(answers.toSorted()).toEqual(['NotFound', 'NotFound', 'NotFound', 'NotFound', 'nothing']);
      expect(await of.user()).toMatchObject({ email: newAddress, standardClaims: { email_verified: true } });
      expect(await of.signIn(newAddress, 'the first one of eve')).toBeDefined();
      expect(await of.signIn('eve@people.example', 'the first one of eve')).toBeUndefined();
      const [, , told] = await of.smtp.gotAll(3);
      expect(told?.recipients).toEqual(['eve@people.example']);
      expect(told?.text).toContain('The email address of your account eve was changed.');
      // What was mailed to the former address leads nowhere.
      expect(await codeOf(of.redeem(reset?.link ?? '', 'a passphrase of somebody else'))).toBe('NotFound');
      expect(await of.audited('user.updated')).toHaveLength(1);
    });

    it('gets it as user name too, if that was the former one', async () => {
      const of = await world({ eve: { username: 'Eve@people.example' } });
      await of.propose(newAddress);
      const [mail] = await of.smtp.gotAll(1);
      await of.confirm(linkIn(mail));
      expect(await of.user()).toMatchObject({ username: newAddress, email: newAddress });
      expect(await of.signIn('eve@people.example', 'the first one of eve')).toBeUndefined();
      await of.create({ username: 'bob', email: 'eve@people.example' });
    });

    it('verifies the present address in the same way', async () => {
      const of = await world();
      await of.propose('eve@people.example');
      const [mail] = await of.smtp.gotAll(1);
      await of.confirm(linkIn(mail));
      expect(await of.user()).toMatchObject({ standardClaims: { email_verified: true } });
      await eventually('nothing waits', async () => (await of.waiting()).length === 0);
      expect(of.smtp.received).toHaveLength(1);
    });

    it('is told the same about an address that somebody else has, and nothing is sent', async () => {
      const of = await world();
      await of.create({ username: 'bob', email: 'bob@people.example' });
      expect(await of.propose('BOB@people.example')).toMatchObject({});
      await eventually('it is given up', async () => (await of.audited('mail.failed')).length === 1);
      expect(await of.audited('mail.failed')).toMatchObject([{ reason: 'taken', subject: of.userId }]);
      expect(of.smtp.received).toEqual([]);
    });

    it('is sent no more mail within an hour than is set, to whatever addresses', async () => {
      const of = await world({ mailsPerHour: 2 });
      for (const at of [1, 2, 3]) await of.propose(`eve${at}@new.example`);
      await eventually('nothing waits', async () => (await of.waiting()).length === 0);
      const recipients = of.smtp.received.map((mail) => mail.recipients[0] ?? '');
      expect(recipients.toSorted()).toEqual(['eve1@new.example', 'eve2@new.example']);
    });

    it('cannot confirm one that somebody else got meanwhile', async () => {
      const of = await world();
      await of.propose(newAddress);
      const [mail] = await of.smtp.gotAll(1);
      await of.create({ username: 'bob', email: newAddress });
      expect(await codeOf(of.confirm(linkIn(mail)))).toBe('NotFound');
      expect((await of.user())?.email).toBe('eve@people.example');
    });

    it('cannot confirm one by which programs know somebody else', async () => {
      const of = await world();
      await of.propose(newAddress);
      const [mail] = await of.smtp.gotAll(1);
      await of.create({ username: 'bob', preferredUsername: newAddress.toUpperCase() });
      expect(await codeOf(of.confirm(linkIn(mail)))).toBe('NotFound');
      expect((await of.user())?.email).toBe('eve@people.example');
    });

    it('uses a link alone: it is nobody else’s, of no other tenant, and the latest one', async () => {
      const of = await world();
      const tenantId = `${of.tenantId}-other`;
      await of.api.tenants.create({ tenantId, tenant: { tenantId, name: 'Other' } }, call());
      const { userId } = await of.api.users.create({ tenantId, user: { username: 'eve' } }, call());
      const bob = await of.create({ username: 'bob' });
      await of.propose(newAddress);
      const [first] = await of.smtp.gotAll(1);
      await of.propose('eve@newer.example');
      const [, second] = await of.smtp.gotAll(2);
      for (const [link, person] of [
        [linkIn(first), {}],
        [linkIn(second), { userId: bob }],
        [linkIn(second), { tenantId, userId }],
        ['te_x', {}],
      ] as const) {
        expect(await codeOf(of.find(link, person))).toBe('NotFound');
        expect(await codeOf(of.confirm(link, person))).toBe('NotFound');
      }
      await of.confirm(linkIn(second));
      expect((await of.user())?.email).toBe('eve@newer.example');
    });

    it.each([
      ['InvalidArgument', 'no address', {}],
      ['NotFound', newAddress, { userId: 'usr_nobody' }],
    ])('is refused with %s: %s', async (code, email, fields) => {
      const of = await world();
      expect(await codeOf(of.propose(email, fields))).toBe(code);
    });
  });

  describe(`a person whose address an administrator changes, on ${engine}`, () => {
    const changed = async (of: Awaited<ReturnType<typeof world>>, user: object) =>
      of.api.users.update({ tenantId: of.tenantId, user: { userId: of.userId, ...user } }, call());

    it('cannot use a link that was mailed to the former one, whatever it is for', async () => {
      const of = await world();
      await of.forget('eve');
      const [reset] = await of.smtp.gotAll(1);
      await of.propose(newAddress);
      const [, proposed] = await of.smtp.gotAll(2);
      await changed(of, { email: 'eve@corrected.example' });
      expect(await codeOf(of.redeem(reset?.link ?? '', 'a passphrase of somebody else'))).toBe('NotFound');
      expect(await codeOf(of.confirm(linkIn(proposed)))).toBe('NotFound');
      await of.forget('eve');
      const [, , second] = await of.smtp.gotAll(3);
      expect(second?.recipients).toEqual(['eve@corrected.example']);
      expect(await of.redeem(second?.link ?? '', 'a passphrase that eve chose')).toMatchObject({
        passwordProblem: '',
      });
    });

    it('keeps the link of an invitation until then, and it dies with the address', async () => {
      const of = await world();
      const invited = async (fields: object) => {
        const userId = await of.create({ username: `new-${Math.random()}`, ...fields });
        const { uri } = await of.api.users.createPasswordLink(
          { tenantId: of.tenantId, userId, purpose: 'invitation' },
          call(),
        );
        return { userId, uri };
      };
      const [named, unnamed] = [await invited({ email: 'typo@people.example' }), await invited({})];
      for (const { userId } of [named, unnamed])
        await changed(of, { userId, email: `${userId.slice(4, 12)}@people.example` });
      expect(await codeOf(of.redeem(named.uri, 'a passphrase of somebody else'))).toBe('NotFound');
      // It was mailed nowhere.
      expect(await codeOf(of.redeem(unnamed.uri, 'a passphrase that they chose'))).toBe('nothing');
    });

    it('keeps links if something else changes', async () => {
      const of = await world();
      await of.forget('eve');
      const [reset] = await of.smtp.gotAll(1);
      await changed(of, { name: 'Eve' });
      expect(await codeOf(of.redeem(reset?.link ?? '', 'a passphrase that eve chose'))).toBe('nothing');
    });

    it('has one address and no other’s link, if they confirm another one at the same time', async () => {
      const of = await world();
      await of.propose(newAddress);
      const [mail] = await of.smtp.gotAll(1);
      const [own] = await Promise.all([
        codeOf(of.confirm(linkIn(mail))),
        changed(of, { email: 'eve@corrected.example' }),
      ]);
      const { email = '' } = (await of.user()) ?? {};
      // The later one counts; a link of before is gone.
      expect(own === 'nothing' ? [newAddress, 'eve@corrected.example'] : ['eve@corrected.example']).toContain(
        email,
      );
      expect(await codeOf(of.confirm(linkIn(mail)))).toBe('NotFound');
    });
  });

  describe(`a person whose way to sign in changes, on ${engine}`, () => {
    it('is told of a password that they change or set by a link', async () => {
      const of = await world();
      const change = { presentPassword: 'the first one of eve', newPassword: 'the second one of eve' };
      const person = { tenantId: of.tenantId, userId: of.userId };
      await of.as('authorize').replacePassword({ ...person, ...change }, call());
      const [first] = await of.smtp.gotAll(1);
      expect(first?.headers['subject']).toBe('A change to your account at Acme');
      expect(first?.text).toContain('The password of your account eve was changed.');
      expect(first?.link).toBe('');
      await of.forget('eve');
      const [, reset] = await of.smtp.gotAll(2);
      await of.redeem(reset?.link ?? '', 'the third one of eve');
      const [, , third] = await of.smtp.gotAll(3);
      expect(third?.text).toContain('The password of your account eve was changed.');
    });

    it('is told, in Arabic too, that an administrator removed the second factors', async () => {
      const of = await world({ eve: { locale: 'ar' } });
      const person = { tenantId: of.tenantId, userId: of.userId };
      await of.api.users.resetSecondFactors(person, call());
      await of.query(
        'give_app',
        `INSERT INTO directory.totp (tenant_id, user_id, sealed, last_step) VALUES ($1, $2, 'x', 0)`,
        of.tenantId,
        of.userId,
      );
      await of.api.users.resetSecondFactors(person, call());
      const [mail] = await of.smtp.gotAll(1);
      expect(mail?.text).toContain('أزال أحد المسؤولين تطبيق المصادقة');
      // The first removed nothing.
      await eventually('nothing waits', async () => (await of.waiting()).length === 0);
      expect(await of.audited('mail.sent')).toHaveLength(1);
    });

    it('is told of a password that an administrator sets, also the first one, and of none that stays', async () => {
      const of = await world();
      const person = {
        tenantId: of.tenantId,
        user: { userId: of.userId, password: 'the administrator’s one' },
      };
      await of.api.users.update({ ...person, validateOnly: true }, call());
      await of.api.users.update({ ...person, user: { userId: of.userId, name: 'Eve' } }, call());
      await of.api.users.update(person, call());
      const [mail] = await of.smtp.gotAll(1);
      expect(mail?.text).toContain('An administrator has set another password for your account eve.');
      const userId = await of.create({ username: 'new', email: 'new@people.example' });
      await of.api.users.update({ ...person, user: { userId, password: 'the administrator’s one' } }, call());
      const [, first] = await of.smtp.gotAll(2);
      expect(first?.recipients).toEqual(['new@people.example']);
      await eventually('nothing waits', async () => (await of.waiting()).length === 0);
      expect(of.smtp.received).toHaveLength(2);
    });

    it('is told of recovery codes in place of earlier ones', async () => {
      const of = await world();
      const person = { tenantId: of.tenantId, userId: of.userId };
      await of.query(
        'give_app_for_codes',
        `INSERT INTO directory.totp (tenant_id, user_id, sealed, last_step) VALUES ($1, $2, 'x', 0)`,
        of.tenantId,
        of.userId,
      );
      await newRecoveryCodes(of.as('authorize'), person, 'first');
      expect(await of.waiting()).toEqual([]);
      await newRecoveryCodes(of.as('authorize'), person, 'second');
      const [mail] = await of.smtp.gotAll(1);
      expect(mail?.text).toContain('New recovery codes were made for your account eve.');
    });

    it('is not told of a change that did not happen', async () => {
      const of = await world();
      const change = { presentPassword: 'wrong', newPassword: 'the second one of eve' };
      const person = { tenantId: of.tenantId, userId: of.userId };
      await of.as('authorize').replacePassword({ ...person, ...change }, call());
      expect(await of.waiting()).toEqual([]);
    });
  });
}
