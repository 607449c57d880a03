import type { Database } from '@tessera/stores';
import { eventually, testDatabase, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { issuer, mailWorld } from '../testing/mail-world.ts';
import { call } from '../testing/start-directory.ts';
import { migrations } from '@tessera/directory';

wrongCodesContract('postgres', async () => testDatabase(migrations));
if (runsEverything) wrongCodesContract('pglite', async () => testEmbeddedDatabase(migrations));

/** What people are told of wrong codes, on any engine. */
function wrongCodesContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });

  async function world(eve: object, options: { readonly mailsPerHour?: number } = {}) {
    const of = await mailWorld(database, { eve, ...options });
    const { tenantId, userId } = of;
    const announce = async (fields: object = {}) =>
      of.person.announceWrongCodes({ tenantId, userId, ...fields }, call());
    return { ...of, announce };
  }

  describe(`a person at whose account many wrong codes were tried, on ${engine}`, () => {
    it('is told at the verified address, in their language, and where to choose a new password', async () => {
      const of = await world({ locale: 'de', emailVerified: true });
      await of.announce();
      const [mail] = await of.smtp.gotAll(1);
      expect(mail).toMatchObject({
        recipients: ['eve@people.example'],
        headers: { subject: 'Falsche Codes für Ihr Konto bei Acme' },
        link: `${issuer}/password/forgot?tenant=${of.tenantId}`,
      });
      expect(mail?.text).toContain('viele falsche Codes');
    });

    it('is told nothing without a verified address, and nobody else is', async () => {
      for (const eve of [{}, { emailVerified: false }, { email: '' }]) {
        const of = await world(eve);
        for (const fields of [{}, { userId: 'usr_nobody' }, { tenantId: 'nobody' }])
          expect(await of.announce(fields)).toMatchObject({});
        expect(await of.waiting()).toEqual([]);
      }
    });

    it('gets only some letters within an hour, whoever asks for them', async () => {
      const of = await world({ emailVerified: true }, { mailsPerHour: 2 });
      await Promise.all([of.announce(), of.announce(), of.announce()]);
      await of.smtp.gotAll(2);
      await eventually('nothing waits', async () => (await of.waiting()).length === 0);
      expect(of.smtp.received).toHaveLength(2);
    });
  });
}
