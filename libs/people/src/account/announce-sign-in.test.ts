import type { Database } from '@tessera/stores';
import { eventually, testDatabase, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { issuer, mailWorld } from '../testing/mail-world.ts';
import { call } from '../testing/start-directory.ts';
import { migrations } from '@tessera/directory';

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';

signInContract('postgres', async () => testDatabase(migrations));
if (runsEverything) signInContract('pglite', async () => testEmbeddedDatabase(migrations));

/** What people are told of sign-ins, on any engine. */
function signInContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });

  async function world(options: Parameters<typeof mailWorld>[1] = {}) {
    const of = await mailWorld(database, options);
    const { tenantId, userId } = of;
    const signIn = { ipAddress: '203.0.113.9', userAgent: firefox, first: false };
    return {
      ...of,
      announce: async (fields: object = {}) =>
        of.person.announceSignIn({ tenantId, userId, ...signIn, ...fields }, call()),
      isDone: async () => eventually('nothing waits', async () => (await of.waiting()).length === 0),
    };
  }

  describe(`a person of whom a new browser signs in, on ${engine}`, () => {
    it('is told when, from where and with what, as the account page does, and where to look', async () => {
      const of = await world({ eve: { locale: 'de' } });
      await of.announce();
      const [mail] = await of.smtp.gotAll(1);
      expect(mail).toMatchObject({
        recipients: ['eve@people.example'],
        headers: { subject: 'Neue Anmeldung bei Ihrem Konto bei Acme' },
        link: `${issuer}/account/devices?tenant=${of.tenantId}`,
      });
      expect(mail?.text).toContain('Firefox unter Linux');
      expect(mail?.text).toContain('203.0.113.9');
      expect(mail?.text).toContain(String(new Date().getUTCFullYear()));
    });

    it('is told of a browser that says nothing, or anything', async () => {
      const of = await world();
      await of.announce({ userAgent: '' });
      await of.announce({ userAgent: `<b>${'x'.repeat(9999)}` });
      for (const { text, html } of await of.smtp.gotAll(2)) {
        expect(text).toContain('Unknown browser');
        expect(html).not.toContain('<b>');
      }
    });

    it('is not told of the first sign-in to a new account, and is told of it after half a year', async () => {
      const of = await world();
      await of.announce({ first: true });
      expect(await of.waiting()).toEqual([]);
      const age = `UPDATE directory.user_account SET created_at = now() - interval '181 days' WHERE user_id = $1`;
      await of.query('age_account', age, of.userId);
      await of.announce({ first: true });
      await of.smtp.gotAll(1);
    });

    it('gets only some letters within an hour, whatever else is asked for', async () => {
      const of = await world({ mailsPerHour: 2 });
      await Promise.all([of.forget('eve'), of.forget('eve'), of.forget('eve')]);
      await of.smtp.gotAll(2);
      await of.isDone();
      await Promise.all([of.announce(), of.announce(), of.announce()]);
      await of.smtp.gotAll(4);
      await of.isDone();
      expect(of.smtp.received).toHaveLength(4);
    });

    it('is told nothing without an address, and nobody else is', async () => {
      const of = await world({ eve: { email: '' } });
      for (const fields of [{}, { userId: 'usr_nobody' }, { tenantId: 'nobody' }])
        expect(await of.announce(fields)).toMatchObject({});
      expect(await of.waiting()).toEqual([]);
    });
  });
}
