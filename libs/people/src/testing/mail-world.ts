import { startSmtpReceiver, type SmtpReceiver } from '@tessera/test-kit';
import type { Database } from '@tessera/stores';
import { onTestFinished } from 'vitest';
import { call, startDirectory } from './start-directory.ts';

/** Pauses that tests have the time for. */
export const mailPace = { delays: [0.02], lookMs: 20, requestDelay: 0 };

export const issuer = 'https://id.example';

/** What a directory needs to send mail to a test's server. */
export function mailSettings({ port }: Pick<SmtpReceiver, 'port'>): Record<string, string> {
  return {
    TESSERA_SMTP_URL: `smtp://127.0.0.1:${port}`,
    TESSERA_SMTP_TLS: 'optional',
    TESSERA_MAIL_FROM: 'no-reply@id.example',
    TESSERA_ISSUER: issuer,
  };
}

let count = 0;

/** A tenant whose directory sends mail to a real server: eve has an address and a password. */
export async function mailWorld(
  database: Database,
  {
    settings = {},
    server = {},
    tenant = {},
    eve = {},
    ...options
  }: {
    readonly settings?: Readonly<Record<string, string>>;
    readonly server?: Parameters<typeof startSmtpReceiver>[0];
    readonly tenant?: object;
    readonly eve?: object;
  } & Parameters<typeof startDirectory>[2] = {},
) {
  const smtp = await startSmtpReceiver(server);
  onTestFinished(() => smtp.close());
  const start = (own: typeof options = {}) =>
    startDirectory(database, { ...mailSettings(smtp), ...settings }, { mailPace, ...own });
  const directory = start(options);
  const tenantId = `mail${(count += 1)}`;
  await directory.api.tenants.create({ tenantId, tenant: { tenantId, name: 'Acme', ...tenant } }, call());
  const user = async (fields: object) =>
    (await directory.api.users.create({ tenantId, user: fields }, call())).userId;
  const person = { username: 'eve', email: 'eve@people.example', password: 'the first one of eve', ...eve };
  const userId = await user(person);

  // Nothing of this test is sent by the next one.
  onTestFinished(async () => {
    await query('forget_mail', 'DELETE FROM directory.mail WHERE tenant_id = $1', tenantId);
  });

  const query = async <R extends object>(name: string, text: string, ...values: unknown[]) =>
    (await database.query<R>({ name: `test.${name}`, text, values })).rows;

  return {
    ...directory,
    database,
    smtp,
    start,
    tenantId,
    userId,
    user,
    /** As somebody does who has forgotten the password. */
    forget: async (identifier: string, fields: object = {}) =>
      directory
        .as('gateway')
        .requestPasswordReset(
          { tenantId, identifier, language: 'en', ipAddress: '192.0.2.1', ...fields },
          call(),
        ),
    redeem: async (uri: string, password: string) =>
      directory.as('gateway').redeemPasswordLink(
        {
          link: new URL(uri).searchParams.get('link') ?? '',
          password,
          tenantId: '',
          ipAddress: '192.0.2.1',
        },
        call(),
      ),
    signIn: async (identifier: string, password: string) =>
      (await directory.as('authorize').verifyPassword({ tenantId, identifier, password }, call())).user,
    /** Mail that was kept and not sent. */
    waiting: async () =>
      query<{ kind: string; claim: number }>(
        'waiting_mail',
        'SELECT kind, claim FROM directory.mail WHERE tenant_id = $1',
        tenantId,
      ),
    /** Makes everything that waits due now, as after its pause or lease. */
    hurry: async () =>
      query('hurry_mail', 'UPDATE directory.mail SET due_at = now() WHERE tenant_id = $1', tenantId),
    audited: async (event: string) =>
      query<{ subject: string | null; reason: string | null; record: object }>(
        'audited_mail',
        `SELECT record ->> 'subject' AS subject, record ->> 'reason' AS reason, record FROM directory.audit_event WHERE tenant_id = $1 AND event = $2 ORDER BY event_id`,
        tenantId,
        event,
      ),
    query,
  };
}
