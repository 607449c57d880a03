import { describe, expect, it } from 'vitest';
import { OAuthError } from '@tessera/oauth';
import { testRuntime } from '@tessera/test-kit';
import { antiForgery } from '@tessera/pages';
import { openGateway, type Behaviours } from '../../../testing/fake-services.ts';
import { purpose } from '../../form.ts';

const interaction = { interactionId: 'ti_abc', tenantId: 'acme', tenantName: 'Acme', applicationName: 'Web' };
const browserId = `tb_${'a'.repeat(43)}`;
const csrf = antiForgery.token(browserId, purpose.signIn('ti_abc'));
const passkey = { passkey_options: '{"challenge":"AA"}', passkey_nonce: 'n' };

interface Tried {
  /** The step whose page it is. */
  readonly due: string;
  readonly shown: Record<string, string>;
  readonly form: Record<string, string>;
  readonly problem: string;
}
const totp: Tried = { due: 'totp', shown: passkey, form: { totp_code: '1' }, problem: 'wrong_code' };
const recovery: Tried = {
  due: 'passkey',
  shown: { ...passkey, recovery: 'yes' },
  form: { recovery_code: '1' },
  problem: 'wrong_code',
};
const used = { passkey: '{"id":"x"}', passkey_nonce: 'n' };
const mail: Tried = {
  due: 'mail_code',
  shown: { mail_code_to: 'a***@acme.example' },
  form: { mail_code: '1' },
  problem: 'wrong_mail_code',
};
const enrolment: Tried = {
  due: 'totp_enrolment',
  shown: { uri: 'otpauth://totp/Acme:ada?secret=JBSWY3DPEHPK3PXP&issuer=Acme' },
  form: { enrolment_code: '1' },
  problem: 'wrong_code',
};
const instead: Tried = { due: 'totp', shown: passkey, form: used, problem: 'wrong_passkey' };
const asked: Tried = { ...recovery, form: used, problem: 'wrong_passkey' };

/** What the page says, without its markup and encoding. */
async function sent({ due, shown, form }: Tried, answer: NonNullable<Behaviours['continue']>) {
  const step = { name: due, interaction, shown };
  const gateway = openGateway(testRuntime(), { getInteraction: () => ({ step }), continue: answer });
  const { statusCode, body } = await gateway.app.inject({
    method: 'POST',
    url: '/login',
    headers: {
      accept: 'text/html',
      cookie: `tessera_browser=${browserId}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    payload: new URLSearchParams({ interaction: 'ti_abc', csrf, ...form }).toString(),
  });
  return { statusCode, html: body.replaceAll('&#39;', "'") };
}

const wrong = async (tried: Tried) =>
  sent(tried, () => {
    const value = { name: tried.due, interaction, shown: tried.shown, problem: tried.problem };
    return { next: { next: { case: 'step', value } } };
  });
const locked = async (tried: Tried) =>
  sent(tried, () => {
    throw new OAuthError('rate_limited', 'Too many attempts. Try again later.', { retryAfterSeconds: 800 });
  });

const wait = 'Too many attempts. Try again in 14 minutes.';
const marked = (html: string) =>
  [...html.matchAll(/<input id="(\w+)"[^>]* aria-invalid="true"/g)].map(([, id]) => id);

describe('a second factor', () => {
  it.each([
    ['a code', totp, 'Wrong code. Wait until your app shows the next one, then enter that.', ['totp_code']],
    [
      'a recovery code',
      recovery,
      'Wrong code. Each recovery code works once: enter another one.',
      ['recovery_code'],
    ],
    [
      'the first code of an app',
      enrolment,
      'Wrong code. Enter the code that the app shows now.',
      ['enrolment_code'],
    ],
    ['a code by mail', mail, 'Wrong code. Enter the one from the latest email', ['mail_code']],
    ['a passkey in place of a code', instead, "This passkey can't be used here.", []],
    ['a passkey', asked, "This passkey can't be used here.", []],
  ])('that is wrong says so alone, at its field: %s', async (_what, tried, sentence, fields) => {
    const { statusCode, html } = await wrong(tried);
    expect(statusCode).toBe(401);
    expect(html).toContain(sentence);
    expect(html).not.toContain('attempts');
    expect(marked(html)).toEqual(fields);
    expect(html.match(/id="problem"/g)).toHaveLength(1);
  });

  it.each([
    [
      'a code',
      totp,
      'data-passkey="get"',
      'Recovery codes are locked for the same time.',
      'Without your device',
    ],
    ['a recovery code', recovery, 'data-passkey="get"', '<details open>', 'Wrong code'],
    ['a passkey', asked, 'name="recovery_code"', '<details open>', "can't be used"],
    ['a passkey in place of a code', instead, 'name="totp_code"', 'Without your device', 'have to wait'],
    ['a code by mail', mail, 'name="mail_code"', "If you can't wait", 'Send another code'],
  ])('that is locked says for how long, and leaves what still works: %s', async (_what, tried, ...texts) => {
    const { statusCode, html } = await locked(tried);
    const [way, also, absent] = texts;
    expect(statusCode).toBe(429);
    for (const text of [wait, way, also]) expect(html).toContain(text);
    expect(html).toContain(`name="${Object.keys(tried.form)[0]}"`);
    expect(html).not.toContain(absent);
  });
});
