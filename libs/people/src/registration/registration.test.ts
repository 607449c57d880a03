import type { Database } from '@tessera/stores';
import { Code, ConnectError, fieldViolations } from '@tessera/rpc';
import { eventually, testDatabase, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { issuer, mailWorld } from '../testing/mail-world.ts';
import { call } from '../testing/start-directory.ts';
import { migrations } from '@tessera/directory';

const chosen = 'a passphrase that ada chose';
const visit = `ti_${'v'.repeat(43)}`;
const refusal = async (work: Promise<unknown>) =>
  work.then(
    () => [],
    (error: unknown) =>
      error instanceof ConnectError
        ? [Code[error.code], ...fieldViolations(error).map(({ field }) => field)]
        : [String(error)],
  );

registrationContract('postgres', async () => testDatabase(migrations));
if (runsEverything) registrationContract('pglite', async () => testEmbeddedDatabase(migrations));

/** How people make accounts, on any engine. */
function registrationContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });

  async function world(tenant: object, eve: object = {}) {
    const of = await mailWorld(database, { tenant, eve });
    return {
      ...of,
      register: async (email: string, fields: object = {}) =>
        of
          .as('gateway')
          .requestRegistration(
            { tenantId: of.tenantId, email, language: 'de', ipAddress: '192.0.2.1', ...fields },
            call(),
          ),
      find: async (uri: string) =>
        of
          .as('gateway')
          .getPasswordLink({ link: new URL(uri).searchParams.get('link') ?? '', tenantId: '' }, call()),
      isDone: async () => eventually('nothing waits', async () => (await of.waiting()).length === 0),
    };
  }

  describe(`a person who registers, on ${engine}`, () => {
    it('is mailed a link, chooses the password there and has a verified address, once', async () => {
      const of = await world({ registration: 'open' });
      expect(await of.register(' ada@people.example', { interactionId: visit })).toMatchObject({});
      const [mail] = await of.smtp.gotAll(1);
      expect(mail).toMatchObject({
        recipients: ['ada@people.example'],
        headers: { subject: 'Ihre Registrierung bei Acme' },
      });
      const uri = new URL(mail?.link ?? '');
      expect([uri.origin, uri.pathname, uri.searchParams.get('interaction')]).toEqual([
        issuer,
        '/password/link',
        visit,
      ]);
      expect(await of.find(uri.href)).toMatchObject({
        tenantId: of.tenantId,
        tenantName: 'Acme',
        username: 'ada@people.example',
        purpose: 'registration',
      });
      expect(await of.signIn('ada@people.example', chosen)).toBeUndefined();
      expect(await of.redeem(uri.href, 'short')).toMatchObject({
        passwordProblem: 'must have at least 8 characters',
      });
      expect(await of.redeem(uri.href, 'password1')).toMatchObject({
        passwordProblem: expect.stringContaining('most common') as string,
      });
      const answers = await Promise.all(
        Array.from({ length: 4 }, async (_, at) => refusal(of.redeem(uri.href, `${chosen} ${at}`))),
      );
      expect(answers.filter(([code]) => code === undefined)).toHaveLength(1);
      const signedIn = await Promise.all(
        answers.map(async (_, at) => of.signIn('ADA@people.example', `${chosen} ${at}`)),
      );
      expect(signedIn.filter((user) => user !== undefined)).toMatchObject([
        {
          username: 'ada@people.example',
          email: 'ada@people.example',
          standardClaims: { email_verified: true },
        },
      ]);
      expect(await refusal(of.find(uri.href))).toEqual(['NotFound']);
      expect(await of.audited('user.created')).toHaveLength(2);
    });

    it('is told the same if the address has an account, whose owner is told by mail', async () => {
      const of = await world({ registration: 'open' }, { locale: 'en' });
      expect(await of.register('EVE@people.example')).toMatchObject({});
      const [mail] = await of.smtp.gotAll(1);
      expect(mail?.recipients).toEqual(['eve@people.example']);
      expect(mail?.text).toContain(
        'There is an account with this address at Acme already. Its user name is eve.',
      );
      expect(mail?.link).toBe(`${issuer}/password/forgot?tenant=${of.tenantId}`);
      expect(await of.signIn('eve', 'the first one of eve')).toBeDefined();
    });

    it('is invited anew if an administrator made the account and it has no password', async () => {
      const of = await world({ registration: 'invitation' }, { password: '', locale: 'en' });
      await of.register('eve@people.example', { interactionId: visit });
      const [mail] = await of.smtp.gotAll(1);
      expect(mail?.headers['subject']).toBe('Your account at Acme');
      await of.redeem(mail?.link ?? '', chosen);
      expect(await of.signIn('eve', chosen)).toBeDefined();
    });

    it.each([
      ['invitation', 'unknown', 'ada@people.example', {}],
      ['open', 'inactive', 'eve@people.example', { status: 'locked' }],
      ['open', 'taken', 'eve@other.example', { username: 'eve@other.example' }],
    ])(
      'is told the same, and mailed nothing, in a tenant that is %s: %s',
      async (mode, reason, email, eve) => {
        const of = await world({ registration: mode }, eve);
        expect(await of.register(email)).toMatchObject({});
        await of.isDone();
        expect(await of.audited('user.registration.refused')).toMatchObject([{ reason }]);
        expect(of.smtp.received).toEqual([]);
      },
    );

    it('does not come back by registering if an administrator deleted the account', async () => {
      const of = await world({ registration: 'open' }, { username: 'eve@people.example' });
      await of.api.users.delete({ tenantId: of.tenantId, userId: of.userId }, call());
      await of.register('eve@people.example');
      await of.isDone();
      expect(of.smtp.received).toEqual([]);
    });

    it('does not come back by an address of a deleted account, whatever its user name', async () => {
      const of = await world({ registration: 'open' });
      await of.api.users.delete({ tenantId: of.tenantId, userId: of.userId }, call());
      await of.register('Eve@people.example');
      await of.isDone();
      expect(await of.audited('user.registration.refused')).toMatchObject([{ reason: 'inactive' }]);
      expect(of.smtp.received).toEqual([]);
    });

    it('makes no account that programs would take for somebody else’s by its address', async () => {
      const of = await world({ registration: 'open' });
      await of.register('ada@people.example');
      const [mail] = await of.smtp.gotAll(1);
      const preferredUsername = 'ADA@people.example';
      const user = { userId: of.userId, preferredUsername };
      await of.api.users.update({ tenantId: of.tenantId, user }, call());
      expect(await refusal(of.redeem(mail?.link ?? '', chosen))).toEqual(['NotFound']);
      await of.register('ada@people.example');
      await of.isDone();
      expect(await of.audited('user.registration.refused')).toMatchObject([{ reason: 'taken' }]);
      expect(of.smtp.received).toHaveLength(1);
    });

    it('needs an address of the domains of the tenant, and is told so', async () => {
      const of = await world({ registration: 'domain', registrationDomains: ['people.example'] });
      for (const email of [
        'ada@other.example',
        'ada@x.people.example',
        'ada@people.example@evil.example',
        'ada@people.example.',
        'ada@[people.example]',
      ])
        expect(await refusal(of.register(email))).toEqual(['InvalidArgument', 'email']);
      await of.register('ada@PEOPLE.example');
      expect((await of.smtp.gotAll(1))[0]?.recipients).toEqual(['ada@people.example']);
    });

    it('is not let in by default, or at another issuer', async () => {
      const of = await world({});
      expect(await refusal(of.register('ada@people.example'))).toEqual(['NotFound']);
      const own = await world({ registration: 'open', issuer: `https://register.${engine}.example` });
      expect(await refusal(own.register('ada@people.example'))).toEqual(['NotFound']);
    });

    it('is offered it by pages just where they may', async () => {
      const offered = async (tenant: object) => {
        const of = await world(tenant);
        return of.as('gateway').getTenantLooks({ tenantId: of.tenantId }, call());
      };
      expect(await offered({})).toMatchObject({ registers: false, recovers: true, passwordMinLength: 8 });
      for (const registration of ['invitation', 'open'])
        expect(await offered({ registration })).toMatchObject({ registers: true, recovers: true });
      const disabled = { registration: 'open', status: 'disabled' };
      expect(await offered(disabled)).toMatchObject({ registers: false, recovers: false });
    });

    it('makes no account with a link of before the tenant was closed', async () => {
      const of = await world({ registration: 'open' });
      await of.register('ada@people.example');
      const [mail] = await of.smtp.gotAll(1);
      const { tenantId } = of;
      await of.api.tenants.update(
        { tenantId, tenant: { tenantId, registration: 'closed' }, updateMask: { paths: ['registration'] } },
        call(),
      );
      expect(await refusal(of.redeem(mail?.link ?? '', chosen))).toEqual(['NotFound']);
    });
  });
}
