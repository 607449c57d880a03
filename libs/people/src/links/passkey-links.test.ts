import type { Database } from '@tessera/stores';
import {
  SoftwareAuthenticator,
  testDatabase,
  testEmbeddedDatabase,
  type Deviation,
  runsEverything,
} from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call } from '../testing/start-directory.ts';
import { issuer, mailWorld } from '../testing/mail-world.ts';
import { migrations } from '@tessera/directory';

passkeyLinksContract('postgres', async () => testDatabase(migrations));
if (runsEverything) passkeyLinksContract('pglite', async () => testEmbeddedDatabase(migrations));

/** What links that make a passkey do, on any engine. */
function passkeyLinksContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });

  /** An invited person without anything to sign in with. */
  async function world(tenant: object = {}) {
    const of = await mailWorld(database, { tenant });
    const gateway = of.as('gateway');
    const { userId } = await of.api.users.create(
      { tenantId: of.tenantId, user: { username: 'ivy', email: 'ivy@people.example' } },
      call(),
    );
    const person = { tenantId: of.tenantId, userId };
    const linkFor = async (purpose = 'invitation') => {
      const { uri } = await of.api.users.createPasswordLink({ ...person, purpose }, call());
      return new URL(uri).searchParams.get('link') ?? '';
    };
    const get = async (link: string, at = issuer, tenantId = '') =>
      gateway.getPasswordLink({ link, issuer: at, tenantId }, call());
    const redeem = async (link: string, passkey: string, passkeyNonce: string, at = issuer) =>
      gateway.redeemPasswordLink(
        { link, issuer: at, passkey, passkeyNonce, ipAddress: '203.0.113.9' },
        call(),
      );
    const answerTo = async (link: string, key: SoftwareAuthenticator, deviation?: Deviation) => {
      const { passkeyOptions, passkeyNonce } = await get(link);
      return [key.create(passkeyOptions, deviation), passkeyNonce] as const;
    };
    return {
      ...of,
      person,
      linkFor,
      get,
      redeem,
      answerTo,
      /** Who signs in with a passkey. */
      async signIn(key: SoftwareAuthenticator) {
        const challenge = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url');
        const ceremony = { rpId: 'id.example', origin: issuer, challenge };
        const presented = { tenantId: of.tenantId, ceremony, response: key.get(ceremony) };
        return (await of.as('authorize').verifyPasskey(presented, call())).user;
      },
    };
  }

  const gone = { code: 5 };

  describe(`a link that makes a passkey, on ${engine}`, () => {
    it('is that of somebody invited, who signs in with it from then on, and works once', async () => {
      const { person, linkFor, get, redeem, answerTo, signIn, audited } = await world();
      const link = await linkFor();
      const key = new SoftwareAuthenticator(issuer);
      const { passkeyOptions } = await get(link);
      expect(JSON.parse(passkeyOptions)).toMatchObject({
        rp: { id: 'id.example', name: 'Acme' },
        user: { name: 'ivy (Acme)', displayName: 'ivy' },
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      });
      expect(passkeyOptions).not.toContain(person.userId);
      const answer = await answerTo(link, key);
      expect(await redeem(link, ...answer)).toMatchObject({ passkeyRefused: false, passwordProblem: '' });
      expect(await signIn(key)).toMatchObject({ userId: person.userId, secondFactors: ['passkey'] });
      await expect(redeem(link, ...answer)).rejects.toMatchObject(gone);
      await expect(get(link)).rejects.toMatchObject(gone);
      expect(await audited('auth.link.used')).toHaveLength(1);
      expect(await audited('auth.factor.added')).toHaveLength(1);
    });

    it('enrols one passkey of ten that race with it (CVE-2026-37982)', async () => {
      const { linkFor, redeem, answerTo, signIn } = await world();
      const link = await linkFor();
      const keys = Array.from({ length: 10 }, () => new SoftwareAuthenticator(issuer));
      const answers = await Promise.all(keys.map(async (key) => answerTo(link, key)));
      const all = await Promise.allSettled(answers.map(async (answer) => redeem(link, ...answer)));
      expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const users = await Promise.all(keys.map(signIn));
      expect(users.filter((user) => user !== undefined)).toHaveLength(1);
    });

    it('is none that resets a password, or of who has something to sign in with already', async () => {
      const { api, person, linkFor, get, redeem, answerTo } = await world();
      const reset = await linkFor('reset');
      expect((await get(reset)).passkeyOptions).toBe('');
      const invitation = await linkFor();
      const key = new SoftwareAuthenticator(issuer);
      const answer = await answerTo(invitation, key);
      await expect(redeem(reset, ...answer)).rejects.toMatchObject(gone);
      expect(await redeem(invitation, ...answer)).toMatchObject({ passkeyRefused: false });
      await expect(get(reset), 'it ends with the first way in').rejects.toMatchObject(gone);
      const again = await linkFor();
      expect(await get(again)).toMatchObject({ username: 'ivy', passkeyOptions: '' });
      await api.users.update(
        { tenantId: person.tenantId, user: { userId: person.userId, password: 'a long password' } },
        call(),
      );
      expect((await get(await linkFor('reset'))).passkeyOptions).toBe('');
    });

    it.each([
      ['own', 'login.own.example'],
      ['shared', 'id.example'],
    ])('is for the host that its tenant has passkeys for: %s', async (passkeyDomain, id) => {
      const at = `https://login.${passkeyDomain}.example`;
      const { tenantId, linkFor, get } = await world({ issuer: at, passkeyDomain });
      const { passkeyOptions } = await get(await linkFor(), at, tenantId);
      expect(JSON.parse(passkeyOptions)).toMatchObject({ rp: { id } });
    });

    it.each([
      ['of another link', { challenge: 'A'.repeat(43) }],
      ['for another origin', { origin: 'https://id.example.evil.example' }],
      ['for another domain', { rpId: 'evil.example' }],
      ['of who was not verified', { flags: 0x01 }],
    ])('refuses a passkey %s, and stays as it is', async (_what, deviation) => {
      const { linkFor, redeem, answerTo, signIn } = await world();
      const link = await linkFor();
      const key = new SoftwareAuthenticator(issuer);
      expect(await redeem(link, ...(await answerTo(link, key, deviation)))).toMatchObject({
        passkeyRefused: true,
      });
      for (const text of ['{', 'x'.repeat(9000)])
        expect(await redeem(link, text, 'a-nonce')).toMatchObject({ passkeyRefused: true });
      expect(await signIn(key)).toBeUndefined();
      expect(await redeem(link, ...(await answerTo(link, key)))).toMatchObject({ passkeyRefused: false });
    });

    it('asks for none where browsers have none, and at a gateway that does not say where it is', async () => {
      const { linkFor, get } = await world();
      const link = await linkFor();
      for (const at of ['http://id.example', 'http://127.0.0.1:8080', ''])
        expect(await get(link, at)).toMatchObject({ username: 'ivy', passkeyOptions: '', passkeyNonce: '' });
    });

    it('makes an account with a verified address and no password, for who registers', async () => {
      const { as, tenantId, smtp, get, redeem, answerTo, signIn } = await world({ registration: 'open' });
      await as('gateway').requestRegistration({ tenantId, email: 'ora@people.example' }, call());
      const [mail] = await smtp.gotAll(1);
      const link = new URL(mail?.link ?? '').searchParams.get('link') ?? '';
      expect(await get(link)).toMatchObject({ purpose: 'registration', username: 'ora@people.example' });
      const key = new SoftwareAuthenticator(issuer);
      const answer = await answerTo(link, key);
      expect(await redeem(link, ...answer)).toMatchObject({ passkeyRefused: false });
      expect(await signIn(key)).toMatchObject({ username: 'ora@people.example' });
      await expect(redeem(link, ...answer)).rejects.toMatchObject(gone);
    });
  });
}
