import { migrations } from '@tessera/directory';
import { Code, timestampMs } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { eventually, testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { mailPace, mailWorld } from '../testing/mail-world.ts';
import { call } from '../testing/start-directory.ts';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

/** A failed mail is not tried again in a test, unless it hurries. */
const slowly = { mailPace: { ...mailPace, delays: [600] } };

async function world() {
  const of = await mailWorld(database, slowly);
  const { tenantId, userId, api, query } = of;
  const list = async (asked: object = {}) => api.mail.list({ tenantId, ...asked }, call());
  return {
    ...of,
    list,
    remove: async (mailId: string, from = tenantId) => api.mail.delete({ tenantId: from, mailId }, call()),
    /** A link that the server did not take once. */
    async failed() {
      of.smtp.refuse({ content: 451 });
      const made = { tenantId, userId, purpose: 'reset', mail: true };
      await api.users.createPasswordLink(made, call());
      await eventually('it was tried', async () => (await list({ state: 'failed' })).mail.length === 1);
      const [mail] = (await list({ state: 'failed' })).mail;
      return mail?.mailId ?? '';
    },
    /** Mail that nobody sends here, as its kind is of a later version. */
    put: async (mailId: string, to: string, lastError?: string) =>
      query(
        'put_mail',
        `INSERT INTO directory.mail (mail_id, tenant_id, user_id, kind, sealed, due_at, expires_at, last_error)
         VALUES ($1, $2, $3, 'later', '', now(), now() + interval '1 hour', $4)`,
        mailId,
        tenantId,
        to,
        lastError ?? null,
      ),
  };
}

describe('the list of mail that waits', () => {
  it('says what waits for whom, how often it was tried and why in vain, and nothing that is in it', async () => {
    const before = Date.now() - 60_000;
    const of = await world();
    const mailId = await of.failed();
    const { mail } = await of.list();
    expect(mail).toMatchObject([
      {
        mailId,
        userId: of.userId,
        username: 'eve',
        kind: 'reset',
        state: 'failed',
        attempts: 1,
        lastError: 'smtp_451',
      },
    ]);
    const { createTime, nextAttemptTime, expireTime } = mail[0] ?? {};
    const [created = 0, next, expires] = [createTime, nextAttemptTime, expireTime].map((time) =>
      time === undefined ? 0 : timestampMs(time),
    );
    expect(created).toBeGreaterThan(before);
    expect(next).toBeGreaterThan(created + 500_000);
    expect(expires).toBeGreaterThan(created + 3_000_000);

    of.smtp.refuse();
    await of.hurry();
    const [sent] = await of.smtp.gotAll(1);
    expect(sent?.headers['message-id']).toBe(`<${mailId}@id.example>`);
    const link = new URL(sent?.link ?? '').searchParams.get('link') ?? 'none';
    const shown = JSON.stringify(mail, (_key, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    for (const secret of [link, 'eve@people.example', 'sealed']) expect(shown).not.toContain(secret);
    await eventually('it no longer waits', async () => (await of.list()).mail.length === 0);
  });

  it('keeps the reason while the mail is sent again, and counts no attempt that was given back', async () => {
    const of = await world();
    await of.failed();
    // As after an internal failure of the process that claimed it.
    await of.query(
      'break_mail',
      `UPDATE directory.mail SET sealed = 'x', due_at = now() WHERE tenant_id = $1`,
      of.tenantId,
    );
    await eventually('it was given back', async () => (await of.waiting()).some(({ claim }) => claim > 1));
    const isGivenBack = async () => (await of.list()).mail[0]?.attempts === 1;
    await eventually('the claim does not count', isGivenBack);
    expect((await of.list()).mail).toMatchObject([{ state: 'failed', lastError: 'smtp_451' }]);
  });

  it('is of a tenant or of a person, in either state, page by page', async () => {
    const of = await world();
    for (const [mailId, to, lastError] of [
      ['tm_3', 'usr_b'],
      ['tm_1', 'usr_b', 'timeout'],
      ['tm_2', 'usr_a', 'smtp_421'],
      ['tm_4', ''],
    ] as const)
      await of.put(`${mailId}-${of.tenantId}`, to, lastError);
    async function found(asked: object, pageSize: number) {
      const ids: string[] = [];
      let pageToken = '';
      do {
        const page = await of.list({ ...asked, pageSize, pageToken });
        ids.push(...page.mail.map(({ mailId }) => mailId.slice(0, 4)));
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      return ids;
    }
    for (const size of [1, 2, 10]) {
      expect(await found({}, size)).toEqual(['tm_4', 'tm_2', 'tm_1', 'tm_3']);
      expect(await found({ userId: 'usr_b' }, size)).toEqual(['tm_1', 'tm_3']);
      expect(await found({ state: 'failed' }, size)).toEqual(['tm_2', 'tm_1']);
      expect(await found({ userId: 'usr_b', state: 'waiting' }, size)).toEqual(['tm_3']);
    }
    expect((await of.list({ tenantId: 'another' })).mail).toEqual([]);
    const { nextPageToken: pageToken } = await of.list({ pageSize: 1 });
    await expect(of.list({ state: 'failed', pageToken })).rejects.toThrow('belongs to another search');
    await expect(of.list({ state: 'sent' })).rejects.toMatchObject({ code: Code.InvalidArgument });
  });
});

describe('mail that an administrator deletes', () => {
  it('is not sent, with a row that says whose it was', async () => {
    const of = await world();
    const mailId = await of.failed();
    await of.remove(mailId);
    of.smtp.refuse();
    expect(await of.waiting()).toEqual([]);
    await expect(of.remove(mailId)).rejects.toMatchObject({ code: Code.NotFound });
    expect(await of.audited('mail.deleted')).toMatchObject([
      {
        subject: of.userId,
        record: { details: { kind: 'reset', attempts: '1' }, actor: { type: 'operator' } },
      },
    ]);
    // A later one is sent, and it alone.
    await of.forget('eve');
    await of.smtp.gotAll(1);
    await eventually('nothing waits', async () => (await of.waiting()).length === 0);
    expect(await of.audited('mail.sent')).toHaveLength(1);
    expect(of.smtp.received).toHaveLength(1);
  });

  it('is of their tenant', async () => {
    const of = await world();
    const other = `${of.tenantId}-other`;
    // In the same directory: another one would send the mail.
    await of.api.tenants.create({ tenantId: other, tenant: { tenantId: other, name: 'Other' } }, call());
    const mailId = await of.failed();
    for (const [id, tenantId] of [
      [mailId, other],
      ['tm_unknown', of.tenantId],
    ] as const)
      await expect(of.remove(id, tenantId)).rejects.toMatchObject({ code: Code.NotFound });
    expect(await of.waiting()).toHaveLength(1);
  });

  it('is none that a process is sending just now, but one whose process died', async () => {
    const of = await world();
    const mailId = await of.failed();
    const sending = async (until: string) =>
      of.query(
        'send_mail',
        'UPDATE directory.mail SET sending_until = now() + $2::interval WHERE mail_id = $1',
        mailId,
        until,
      );
    await sending('1 minute');
    await expect(of.remove(mailId)).rejects.toMatchObject({ code: Code.Aborted });
    expect(await of.audited('mail.deleted')).toEqual([]);
    await sending('-1 second');
    await of.remove(mailId);
    expect(await of.waiting()).toEqual([]);
  });

  it('is none that the server is just taking', async () => {
    const of = await world();
    const refused: unknown[] = [];
    of.smtp.beforeAnswer(async () => {
      const [mail] = (await of.list()).mail;
      await of.remove(mail?.mailId ?? '').catch((error: unknown) => refused.push(error));
    });
    const made = { tenantId: of.tenantId, userId: of.userId, purpose: 'reset', mail: true };
    await of.api.users.createPasswordLink(made, call());
    await of.smtp.gotAll(1);
    await eventually('it is recorded', async () => (await of.audited('mail.sent')).length === 1);
    expect(refused).toMatchObject([{ code: Code.Aborted }]);
    expect(await of.audited('mail.deleted')).toEqual([]);
  });

  it.each(['notice', 'sign-in', 'wrong-codes'])(
    'is none that warns a person of what happened to their account: %s',
    async (kind) => {
      const of = await world();
      const mailId = `tm_warning-${of.tenantId}`;
      await of.put(mailId, of.userId);
      await of.query(
        'warn',
        `UPDATE directory.mail SET kind = $2, due_at = now() + interval '1 hour' WHERE mail_id = $1`,
        mailId,
        kind,
      );
      await expect(of.remove(mailId)).rejects.toMatchObject({ code: Code.FailedPrecondition });
      expect(await of.waiting()).toHaveLength(1);
    },
  );
});
