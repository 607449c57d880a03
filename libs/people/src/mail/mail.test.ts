import type { Database } from '@tessera/stores';
import { Code, ConnectError } from '@tessera/rpc';
import {
  createAuthority,
  eventually,
  startSmtpReceiver,
  testDatabase,
  testEmbeddedDatabase,
  runsEverything,
} from '@tessera/test-kit';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { giveIdentity, putProvider } from '../testing/give-ways-in.ts';
import { issuer, mailPace, mailWorld } from '../testing/mail-world.ts';
import { call, startDirectory } from '../testing/start-directory.ts';
import { migrations } from '@tessera/directory';

const chosen = 'a passphrase that eve chose';
const codeOf = async (work: Promise<unknown>) =>
  work.then(
    () => 'nothing',
    (error: unknown) => (error instanceof ConnectError ? Code[error.code] : String(error)),
  );

mailContract('postgres', async () => testDatabase(migrations));
if (runsEverything) mailContract('pglite', async () => testEmbeddedDatabase(migrations));

/** What mail does, on any engine. */
function mailContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });
  type Options = Parameters<typeof mailWorld>[1];
  const world = (options?: Options) => mailWorld(database, options);
  const isSent = (of: Awaited<ReturnType<typeof world>>) =>
    eventually('nothing waits', async () => (await of.waiting()).length === 0);

  describe(`a person who has forgotten the password, on ${engine}`, () => {
    it('is mailed a link, which sets a new one once and ends what was issued before', async () => {
      const of = await world();
      const before = await of.signIn('eve', 'the first one of eve');
      expect(await of.forget('EVE@people.example ')).toMatchObject({});
      const [mail] = await of.smtp.gotAll(1);
      expect(mail).toMatchObject({
        sender: 'no-reply@id.example',
        recipients: ['eve@people.example'],
        headers: { from: 'Acme <no-reply@id.example>', subject: 'Your password at Acme' },
      });
      const link = mail?.link ?? '';
      expect(link).toMatch(new RegExp(`^${issuer}/password/link\\?link=tl_[\\w-]{43}$`));
      expect(await of.redeem(link, chosen)).toMatchObject({ passwordProblem: '' });
      const after = await of.signIn('eve', chosen);
      expect(after?.validFrom).toBeGreaterThan(before?.validFrom ?? 0n);
      expect(await codeOf(of.redeem(link, chosen))).toBe('NotFound');
      await isSent(of);
      const sentAs = (kind: string) => ({ subject: of.userId, record: { details: { kind } } });
      expect(await of.audited('mail.sent')).toMatchObject([sentAs('reset'), sentAs('notice')]);
      expect(await of.audited('auth.link.created')).toMatchObject([{ subject: of.userId }]);
    });

    it('keeps second factors, which a mailbox must not remove', async () => {
      const of = await world();
      await of.query(
        'give_totp',
        `INSERT INTO directory.totp (tenant_id, user_id, sealed, last_step) VALUES ($1, $2, 'x', 0)`,
        of.tenantId,
        of.userId,
      );
      await of.forget('eve');
      const [mail] = await of.smtp.gotAll(1);
      await of.redeem(mail?.link ?? '', chosen);
      expect((await of.signIn('eve', chosen))?.secondFactors).toEqual(['totp']);
    });

    it.each([
      ['nobody has the identifier', 'unknown', 'nobody@people.example', {}],
      ['the text is nothing at all', 'unknown', ' ', {}],
      ['they have no address', 'no_address', 'eve', { email: '' }],
      ['they may not sign in', 'inactive', 'eve', { status: 'disabled' }],
    ])('is told the same if %s, and nothing is sent', async (_what, reason, identifier, eve) => {
      const of = await world({ eve });
      expect(await of.forget(identifier)).toMatchObject({});
      await isSent(of);
      expect(await of.audited('auth.reset.refused')).toMatchObject([{ reason }]);
      expect(await of.audited('auth.reset.requested')).toHaveLength(1);
      expect(of.smtp.received).toEqual([]);
    });

    it('gets no password past the provider or passkey that they sign in with', async () => {
      const of = await world({ eve: { password: '' } });
      await putProvider(database, of.tenantId, 'p');
      await giveIdentity(database, of, 'p');
      await of.forget('eve');
      await isSent(of);
      expect(await of.audited('auth.reset.refused')).toMatchObject([{ reason: 'no_password' }]);
    });

    it('is mailed a link if all they had was a provider that was removed', async () => {
      const of = await world({ eve: { password: '' } });
      await giveIdentity(database, of, 'p');
      await of.forget('eve');
      const [mail] = await of.smtp.gotAll(1);
      await of.redeem(mail?.link ?? '', chosen);
      expect(await of.signIn('eve', chosen)).toMatchObject({ userId: of.userId });
    });

    it('is not flooded: an address gets five mails an hour, however many are asked for at once', async () => {
      const of = await world();
      await Promise.all(Array.from({ length: 9 }, () => of.forget('eve')));
      await isSent(of);
      expect(of.smtp.received).toHaveLength(5);
      expect(await of.audited('auth.reset.refused')).toHaveLength(4);
      await of.query(
        'age_quota',
        `UPDATE directory.mail_quota SET since = since - interval '1 hour' WHERE tenant_id = $1`,
        of.tenantId,
      );
      await of.forget('eve');
      await of.smtp.gotAll(6);
      // Each replaced the one before.
      const links = of.smtp.received.map(({ link }) => link);
      const codes = await Promise.all(links.map((link) => codeOf(of.redeem(link, chosen))));
      expect(codes.filter((code) => code === 'nothing')).toHaveLength(1);
    });

    it('asks at the issuer of the tenant', async () => {
      const own = `https://${engine}.login.example`;
      const of = await world({ tenant: { issuer: own } });
      expect(await codeOf(of.forget('eve'))).toBe('NotFound');
      expect(await codeOf(of.forget('eve', { tenantId: 'nobody' }))).toBe('NotFound');
      await of.forget('eve', { issuerTenantId: of.tenantId });
      const [mail] = await of.smtp.gotAll(1);
      expect(new URL(mail?.link ?? '').origin).toBe(own);
    });

    it('is told that no mail is sent where none is', async () => {
      const { as } = startDirectory(database);
      const asked = as('gateway').requestPasswordReset({ tenantId: 'acme', identifier: 'eve' }, call());
      expect(await codeOf(asked)).toBe('FailedPrecondition');
    });
  });

  describe(`an administrator who makes a link, on ${engine}`, () => {
    it('has it mailed, and does not see it', async () => {
      const of = await world({ eve: { password: '' } });
      const made = { tenantId: of.tenantId, userId: of.userId, purpose: 'invitation', mail: true };
      expect(await of.api.users.createPasswordLink(made, call())).toMatchObject({ uri: '' });
      const [mail] = await of.smtp.gotAll(1);
      expect(mail?.headers['subject']).toBe('Your account at Acme');
      expect(await of.redeem(mail?.link ?? '', chosen)).toMatchObject({ passwordProblem: '' });
    });

    it('is told if the person has no address', async () => {
      const of = await world({ eve: { email: '' } });
      const made = { tenantId: of.tenantId, userId: of.userId, purpose: 'reset', mail: true };
      expect(await codeOf(of.api.users.createPasswordLink(made, call()))).toBe('FailedPrecondition');
    });
  });

  describe(`the outbox, on ${engine}`, () => {
    it('holds neither link nor address nor identifier in readable form', async () => {
      const of = await world();
      of.smtp.refuse({ content: 451 });
      await of.forget('eve@people.example');
      await eventually('it was tried', async () => (await of.waiting()).some(({ claim }) => claim > 1));
      const rows = await of.query('all_mail', 'SELECT m.*::text AS row FROM directory.mail m');
      of.smtp.refuse();
      const [mail] = await of.smtp.gotAll(1);
      const link = new URL(mail?.link ?? '').searchParams.get('link') ?? '';
      const audit = await of.query(
        'all_audit',
        'SELECT record FROM directory.audit_event WHERE tenant_id = $1',
        of.tenantId,
      );
      for (const text of [JSON.stringify(rows), JSON.stringify(audit)])
        for (const secret of [link, 'eve@people.example']) expect(text).not.toContain(secret);
    });

    it('loses none while the server is away, and sends each once when it is back', async () => {
      const of = await world();
      const { port } = of.smtp;
      await of.smtp.close();
      await of.forget('eve');
      await eventually('it was tried', async () => (await of.waiting()).some(({ claim }) => claim > 3));
      const back = await startSmtpReceiver({ port });
      onTestFinished(() => back.close());
      await isSent(of);
      expect(back.received).toHaveLength(1);
      expect(await of.audited('mail.sent')).toHaveLength(1);
    });

    it('sends each once, however many processes send', async () => {
      const of = await world({ mailsPerHour: 100 });
      for (let other = 0; other < 3; other += 1) of.start();
      const people = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          of.user({ username: `p${at}`, email: `p${at}@people.example`, password: 'a long password of p' }),
        ),
      );
      await Promise.all(people.map((_, at) => of.forget(`p${at}`)));
      await isSent(of);
      const recipients = of.smtp.received.flatMap((mail) => mail.recipients);
      expect(recipients.toSorted()).toEqual(people.map((_, at) => `p${at}@people.example`).toSorted());
    });

    it('sends again what a process that died had sent, as the same mail with the same link', async () => {
      const of = await world({
        failpoint: (name) => {
          if (name === 'mail.after_send') throw new Error('died');
        },
      });
      await of.forget('eve');
      await of.smtp.gotAll(1);
      await of.close();
      of.start();
      await of.hurry();
      const [first, second] = await of.smtp.gotAll(2);
      expect(second?.headers['message-id']).toBe(first?.headers['message-id']);
      expect(second?.text).toBe(first?.text);
      await isSent(of);
    });

    it('lets a link that was used stay used, though its mail is sent again', async () => {
      let dies = true;
      const of = await world({
        failpoint: (name) => {
          if (name === 'mail.after_send' && dies) throw new Error('died');
        },
      });
      await of.forget('eve');
      const [mail] = await of.smtp.gotAll(1);
      await of.redeem(mail?.link ?? '', chosen);
      dies = false;
      await of.hurry();
      await of.smtp.gotAll(2);
      expect(await codeOf(of.redeem(mail?.link ?? '', chosen))).toBe('NotFound');
    });

    it('does not send again what it could not record as sent', async () => {
      let isTaken = false;
      const of = await world({
        failpoint: (name) => {
          isTaken ||= name === 'mail.after_send';
        },
      });
      await of.query(
        'fail_deletes',
        `CREATE FUNCTION directory.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'away'; END $$`,
      );
      of.smtp.beforeAnswer(async () => {
        await of.query(
          'start_failing',
          'CREATE TRIGGER failing BEFORE DELETE ON directory.mail FOR EACH ROW EXECUTE FUNCTION directory.fail()',
        );
      });
      await of.forget('eve');
      await of.smtp.gotAll(1);
      // Until its answer has come, the mail is rightly sent again.
      await eventually('the server has taken it', () => isTaken);
      await of.hurry();
      await eventually('it is claimed again', async () =>
        (await of.waiting()).some(({ claim }) => claim > 1),
      );
      await of.query('stop_failing', 'DROP TRIGGER failing ON directory.mail');
      await of.query('drop_failing', 'DROP FUNCTION directory.fail');
      await isSent(of);
      expect(of.smtp.received).toHaveLength(1);
    });

    it.each([
      ['recipient', 550],
      ['content', 554],
    ] as const)(
      'gives a mail up whose %s is refused for good (%d, RFC 5321 §4.2.1)',
      async (what, status) => {
        const of = await world();
        of.smtp.refuse({ [what]: status });
        await of.forget('eve');
        await isSent(of);
        expect(await of.audited('mail.failed')).toMatchObject([
          { reason: `smtp_${status}`, subject: of.userId },
        ]);
      },
    );

    it('gives a mail up when its link has expired', async () => {
      const of = await world();
      of.smtp.refuse({ recipient: 450 });
      await of.forget('eve');
      await eventually('it was tried', async () => (await of.waiting()).some(({ kind }) => kind === 'reset'));
      await of.query(
        'expire_mail',
        'UPDATE directory.mail SET expires_at = now(), due_at = now() WHERE tenant_id = $1',
        of.tenantId,
      );
      await isSent(of);
      expect(await of.audited('mail.failed')).toHaveLength(1);
    });

    it('leaves mail of kinds that only a later version knows to it', async () => {
      const of = await world();
      await of.query(
        'later_mail',
        `INSERT INTO directory.mail (mail_id, tenant_id, user_id, kind, sealed, due_at, expires_at)
         VALUES ('tm_later', $1, '', 'later', '', now(), now() + interval '1 hour')`,
        of.tenantId,
      );
      await of.forget('eve');
      await of.smtp.gotAll(1);
      expect(await of.waiting()).toContainEqual({ kind: 'later', claim: 0 });
    });
  });
}

describe('the connection to the server', () => {
  let database: Database;
  beforeAll(async () => {
    database = await testDatabase(migrations);
  });
  const tried = (of: Awaited<ReturnType<typeof mailWorld>>) =>
    eventually('it was tried', async () => (await of.waiting()).some(({ claim }) => claim > 1));

  it('uses TLS with a certificate of the authority that is named (RFC 3207)', async () => {
    const authority = await createAuthority();
    const of = await mailWorld(database, {
      server: { certificate: await authority.issue('smtp.example') },
      settings: { TESSERA_SMTP_TLS: 'required', TESSERA_SMTP_CA: authority.cert },
    });
    await of.forget('eve');
    expect(await of.smtp.gotAll(1)).toHaveLength(1);
  });

  it.each(['with a certificate of nobody we know', 'without TLS'])(
    'sends nothing to a server %s',
    async (how) => {
      const server =
        how === 'without TLS' ? {} : { certificate: await (await createAuthority()).issue('smtp.example') };
      const of = await mailWorld(database, { server, settings: { TESSERA_SMTP_TLS: 'required' } });
      await of.forget('eve');
      await tried(of);
      expect(of.smtp.received).toEqual([]);
    },
  );

  it('proves itself by user name and password, and keeps mail while they are wrong', async () => {
    const authority = await createAuthority();
    const server = {
      certificate: await authority.issue('smtp.example'),
      secure: true,
      user: { name: 'tessera', password: 'p@ss:word/1' },
    };
    const of = await mailWorld(await testDatabase(migrations), {
      server,
      settings: { TESSERA_SMTP_CA: authority.cert },
    });
    await of.close();
    const url = (password: string) =>
      `smtps://tessera:${encodeURIComponent(password)}@127.0.0.1:${of.smtp.port}`;
    const settings = {
      TESSERA_SMTP_CA: authority.cert,
      TESSERA_MAIL_FROM: 'no-reply@id.example',
      TESSERA_ISSUER: issuer,
    };
    const wrong = startDirectory(of.database, { ...settings, TESSERA_SMTP_URL: url('wrong') }, { mailPace });
    await wrong
      .as('gateway')
      .requestPasswordReset({ tenantId: of.tenantId, identifier: 'eve', ipAddress: '192.0.2.1' }, call());
    await tried(of);
    await wrong.close();
    await of.hurry();
    startDirectory(of.database, { ...settings, TESSERA_SMTP_URL: url('p@ss:word/1') }, { mailPace });
    expect(await of.smtp.gotAll(1)).toHaveLength(1);
  });
});

describe('what a mail says', () => {
  let database: Database;
  beforeAll(async () => {
    database = await testDatabase(migrations);
  });

  it.each([
    ['en', 'en-GB', 'Your password at Acme', 'A new password was requested', 'ltr'],
    ['de', 'de-AT', 'Ihr Passwort bei Acme', 'wurde ein neues Passwort angefordert', 'ltr'],
    ['ar', 'ar', 'كلمة المرور الخاصة بك لدى \u2068Acme\u2069', 'طُلبت كلمة مرور جديدة', 'rtl'],
  ])('is in the language of the person: %s', async (lang, locale, subject, sentence, direction) => {
    const of = await mailWorld(database, { eve: { locale } });
    await of.forget('eve', { language: 'en' });
    const [mail] = await of.smtp.gotAll(1);
    expect(mail?.headers['subject']).toBe(subject);
    expect(mail?.text).toContain(sentence);
    expect(mail?.html).toContain(`<html lang="${lang}" dir="${direction}">`);
    expect(mail?.html).toContain(sentence);
    expect(mail?.html).toContain(`href="${mail?.link}"`);
    const addresses = [...(mail?.html ?? '').matchAll(/(?:https?:)?\/\/[^"<\s]+/g)].map(
      ([address]) => address,
    );
    expect(new Set(addresses)).toEqual(new Set([mail?.link]));
    expect(mail?.html).not.toMatch(/<(?:img|script|link|iframe)|url\(/);
  });

  it('is in the language of the request if the person has none', async () => {
    const of = await mailWorld(database);
    await of.forget('eve', { language: 'de' });
    const [mail] = await of.smtp.gotAll(1);
    expect(mail?.headers['subject']).toBe('Ihr Passwort bei Acme');
  });

  it('has one recipient and the headers that are meant, whatever names say', async () => {
    const name = `A" <x@evil.example>, =?utf-8?q?=0ABcc:?= ${'y'.repeat(90)}`;
    const of = await mailWorld(database, {
      tenant: { name },
      eve: { username: '<b>eve</b>', email: "eve+o'x=1@people.example" },
    });
    await of.forget('<b>eve</b>');
    const [mail] = await of.smtp.gotAll(1);
    expect(mail?.recipients).toEqual(["eve+o'x=1@people.example"]);
    expect(Object.keys(mail?.headers ?? {}).toSorted()).toEqual([
      'auto-submitted',
      'content-type',
      'date',
      'from',
      'message-id',
      'mime-version',
      'subject',
      'to',
      'x-auto-response-suppress',
    ]);
    expect(mail?.html).toContain('&lt;b&gt;eve&lt;/b&gt;');
    expect(mail?.text).toContain('<b>eve</b>');
  });

  it.each([
    'eve,bob;x(y)@people.example',
    '<x>eve@people.example',
    'eve@[127.0.0.1]',
    '"eve"@people.example',
  ])('is not sent to what a server could read as the address of somebody else: %s', async (email) => {
    const of = await mailWorld(database, { eve: { email } });
    await of.forget('eve');
    await eventually('it is given up', async () => (await of.audited('mail.failed')).length === 1);
    expect(of.smtp.received).toEqual([]);
  });
});
