import type { Database } from '@tessera/stores';
import { migrations } from '@tessera/directory';
import { runsEverything, testDatabase, testEmbeddedDatabase, type ReceivedMail } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startDirectory } from '../testing/start-directory.ts';
import { mailWorld } from '../testing/mail-world.ts';

mailCodesContract('postgres', async () => testDatabase(migrations));
if (runsEverything) mailCodesContract('pglite', async () => testEmbeddedDatabase(migrations));

const ipAddress = '192.0.2.1';
const codeIn = ({ text }: ReceivedMail) => /^(\d{8}) /mu.exec(text)?.[1] ?? '';
/** Another code than this one. */
const not = (code: string) => code.replaceAll(/\d/g, (digit) => String((Number(digit) + 1) % 10));

/** What codes by mail do, on any engine. */
function mailCodesContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });

  let visits = 0;
  const newVisit = () => `visit-${engine}-${(visits += 1)}`;

  async function world(signInMethods: readonly string[] = ['mail-code'], options: object = {}) {
    const of = await mailWorld(database, { tenant: { signInMethods }, ...options });
    const { tenantId, userId } = of;
    const authorize = of.as('authorize');
    return {
      ...of,
      /** As somebody does who types an identifier. */
      request: async (identifier: string, visit: string, more: object = {}) =>
        authorize.requestMailCode(
          { tenantId, identifier, visit, languages: 'en', ipAddress, ...more },
          call(),
        ),
      /** To who has given the password. */
      send: async (visit: string, who = userId) =>
        (await authorize.sendMailCode({ tenantId, userId: who, visit, languages: 'en', ipAddress }, call()))
          .sent,
      verify: async (visit: string, code: string, who = '') =>
        (await authorize.verifyMailCode({ tenantId, userId: who, visit, code, ipAddress }, call())).user
          ?.userId,
      /** The codes of so many mails. */
      codes: async (count: number) => (await of.smtp.gotAll(count)).map(codeIn),
      tenant: async (tenant: object) =>
        of.api.tenants.update({ tenantId, tenant: { tenantId, ...tenant } }, call()),
      change: async (user: object) => of.api.users.update({ tenantId, user: { userId, ...user } }, call()),
    };
  }

  describe(`a code by mail in place of a password, on ${engine}`, () => {
    it('goes to the address of the person, has eight digits, and signs in once', async () => {
      const { request, verify, smtp, userId, audited, query, tenantId } = await world();
      const visit = newVisit();
      await request('eve', visit);
      const [mail] = await smtp.gotAll(1);
      expect(mail?.recipients).toEqual(['eve@people.example']);
      expect(mail?.headers['subject']).toBe('Your sign-in code for Acme');
      const code = mail === undefined ? '' : codeIn(mail);
      expect(code).toMatch(/^\d{8}$/);
      expect(mail?.text).toContain('ignore this email');
      const stored = await query(
        'stored_code',
        `SELECT to_jsonb(v)::text AS line FROM directory.one_time_value v WHERE tenant_id = $1`,
        tenantId,
      );
      expect(JSON.stringify(stored)).not.toMatch(new RegExp(`${code}|${visit}`, 'u'));
      expect(await verify(visit, ` ${code.slice(0, 4)} ${code.slice(4)}`)).toBe(userId);
      expect(await verify(visit, code)).toBeUndefined();
      for (const event of ['auth.mail_code.requested', 'auth.mail_code.sent', 'auth.mail_code.used'])
        expect(await audited(event), event).toHaveLength(1);
      expect(JSON.stringify(await audited('auth.mail_code.sent'))).not.toContain(code);
    });

    it('signs in for one of twenty who present it at once', async () => {
      const { request, verify, codes, userId } = await world();
      for (let round = 1; round <= 3; round += 1) {
        const visit = newVisit();
        await request('eve', visit);
        const code = (await codes(round)).at(-1) ?? '';
        const all = await Promise.all(Array.from({ length: 20 }, async () => verify(visit, code)));
        expect(all.filter((user) => user === userId)).toHaveLength(1);
        expect(all.filter((user) => user === undefined)).toHaveLength(19);
      }
    });

    it('works in the visit that asked for it alone', async () => {
      const { request, verify, codes, userId } = await world();
      const [visit, other] = [newVisit(), newVisit()];
      await request('eve', visit);
      await request('nobody', other);
      const [code = ''] = await codes(1);
      expect(await verify(other, code)).toBeUndefined();
      expect(await verify(newVisit(), code)).toBeUndefined();
      expect(await verify(visit, code, 'usr_somebody')).toBeUndefined();
      expect(await verify(visit, code), 'it was tried for another person').toBeUndefined();
      await request('eve', visit);
      expect(await verify(visit, (await codes(2)).at(-1) ?? '', userId)).toBe(userId);
    });

    it('bears five tries, and another code has its own', async () => {
      const { request, verify, codes, userId } = await world();
      const visit = newVisit();
      await request('eve', visit);
      const [code = ''] = await codes(1);
      for (const text of ['', '1234567', '123456789', 'abcdefgh'])
        expect(await verify(visit, text), 'that is no try').toBeUndefined();
      for (let tries = 0; tries < 5; tries += 1) expect(await verify(visit, not(code))).toBeUndefined();
      expect(await verify(visit, code)).toBeUndefined();
      await request('eve', visit);
      const second = (await codes(2)).at(-1) ?? '';
      expect(await verify(visit, second)).toBe(userId);
    });

    it('ends with a later one, and after ten minutes', async () => {
      const { request, verify, codes, query, tenantId } = await world();
      const visit = newVisit();
      await request('eve', visit);
      const [first = ''] = await codes(1);
      await request('eve', visit);
      const second = (await codes(2)).at(-1) ?? '';
      expect(second).not.toBe(first);
      expect(await verify(visit, first)).toBeUndefined();
      const [kept] = await query<{ seconds: number }>(
        'lifetime_of_code',
        `SELECT extract(epoch FROM expires_at - clock_timestamp())::float8 AS seconds
           FROM directory.one_time_value WHERE tenant_id = $1`,
        tenantId,
      );
      expect(Math.abs((kept?.seconds ?? 0) - 600)).toBeLessThan(60);
      await query(
        'age_codes',
        'UPDATE directory.one_time_value SET expires_at = clock_timestamp() WHERE tenant_id = $1',
        tenantId,
      );
      expect(await verify(visit, second)).toBeUndefined();
    });

    it.each([
      ['the address', async (of: World) => of.change({ email: 'other@people.example' })],
      ['the password', async (of: World) => of.change({ password: 'another long password' })],
      ['the status', async (of: World) => of.change({ status: 'disabled' })],
      ['the status of the tenant', async (of: World) => of.tenant({ status: 'disabled' })],
    ])('ends with a change of %s', async (_what, change) => {
      const of = await world();
      const visit = newVisit();
      await of.request('eve', visit);
      const [code = ''] = await of.codes(1);
      await change(of);
      expect(await of.verify(visit, code)).toBeUndefined();
    });

    it.each([
      ['unknown', 'nobody', {}],
      ['no_address', 'eve', { eve: { email: '' } }],
    ])('is mailed to nobody, who is told nothing, if the person is %s', async (reason, who, options) => {
      const { request, audited, waiting, smtp } = await world(['mail-code'], options);
      await request(who, newVisit());
      await expect.poll(async () => audited('auth.mail_code.refused')).toHaveLength(1);
      expect(await audited('auth.mail_code.refused')).toMatchObject([{ reason }]);
      expect([await waiting(), await smtp.gotAll(0)]).toEqual([[], []]);
    });

    it.each([[[]], [['mail-code-second']]])('is refused where the tenant allows %j', async (methods) => {
      const { request } = await world(methods);
      await expect(request('eve', newVisit())).rejects.toMatchObject({ code: 5 });
    });

    it('is refused at another issuer, and where no mail is sent', async () => {
      const { request, tenantId } = await world();
      for (const issuerTenantId of ['elsewhere', tenantId.toUpperCase()])
        await expect(request('eve', newVisit(), { issuerTenantId })).rejects.toMatchObject({ code: 5 });
      const asked = { tenantId, identifier: 'eve', visit: newVisit() };
      const without = startDirectory(database).as('authorize').requestMailCode(asked, call());
      await expect(without).rejects.toMatchObject({ code: 9 });
    });

    it('is limited for an address, which is not told', async () => {
      const { request, audited } = await world(['mail-code'], {
        mailsPerHour: 2,
      });
      for (let at = 0; at < 3; at += 1) await request('eve', newVisit());
      await expect.poll(async () => audited('auth.mail_code.refused')).toHaveLength(1);
      expect(await audited('auth.mail_code.refused')).toMatchObject([{ reason: 'limited' }]);
    });
  });

  describe(`a code by mail after a password, on ${engine}`, () => {
    it.each([[['mail-code-second']], [['mail-code']]])(
      'is sent to the person alone, where the tenant allows %j',
      async (methods) => {
        const { send, verify, smtp, userId, user } = await world(methods);
        const bob = await user({ username: 'bob', password: 'a long password of bob' });
        const visit = newVisit();
        expect(await send(visit)).toBe(true);
        const [mail] = await smtp.gotAll(1);
        expect(mail?.text).toContain('change your password');
        const code = mail === undefined ? '' : codeIn(mail);
        expect(await verify(newVisit(), code, userId)).toBeUndefined();
        expect(await verify(visit, code, userId)).toBe(userId);
        expect(await verify(visit, code, userId)).toBeUndefined();
        expect(await send(newVisit(), bob), 'without an address').toBe(false);
      },
    );

    it('is refused where the tenant does not allow it, and to who may not sign in', async () => {
      const { send } = await world([]);
      await expect(send(newVisit())).rejects.toMatchObject({ code: 5 });
      const of = await world();
      await expect(of.send(newVisit(), 'usr_nobody')).rejects.toMatchObject({ code: 5 });
      await of.change({ status: 'disabled' });
      await expect(of.send(newVisit())).rejects.toMatchObject({ code: 5 });
    });

    it('is limited for the person, whom nobody else keeps out by asking', async () => {
      const { request, send, audited } = await world(['mail-code'], {
        mailsPerHour: 2,
      });
      for (let at = 0; at < 3; at += 1) await request('eve', newVisit());
      await expect.poll(async () => audited('auth.mail_code.refused')).toHaveLength(1);
      expect([await send(newVisit()), await send(newVisit()), await send(newVisit())]).toEqual([
        true,
        true,
        false,
      ]);
    });
  });

  type World = Awaited<ReturnType<typeof world>>;
}
