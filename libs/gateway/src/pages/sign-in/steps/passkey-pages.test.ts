import { testRuntime } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import { antiForgery } from '@tessera/pages';
import { openGateway, type Behaviours } from '../../../testing/fake-services.ts';
import { purpose } from '../../form.ts';

const interaction = {
  interactionId: 'ti_abc',
  tenantId: 'acme',
  applicationName: 'Acme Web',
  scopes: ['openid'],
};
const browserId = `tb_${'a'.repeat(43)}`;
const headers = { accept: 'text/html', cookie: `tessera_browser=${browserId}` };
const options = '{"challenge":"a&b","rpId":"id.example"}';
const shown = { passkey_options: options, passkey_nonce: 'n0nce' };
const csrf = antiForgery.token(browserId, purpose.signIn('ti_abc'));

const open = (name: string, answers: Partial<Behaviours> = {}) =>
  openGateway(testRuntime(), { getInteraction: () => ({ step: { name, interaction, shown } }), ...answers });
const show = async (gateway: ReturnType<typeof open>) =>
  gateway.app.inject({ method: 'GET', url: '/login?interaction=ti_abc', headers });
const send = async (gateway: ReturnType<typeof open>, fields: Record<string, string>) =>
  gateway.app.inject({
    method: 'POST',
    url: '/login',
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ interaction: 'ti_abc', csrf, ...fields }).toString(),
  });

describe('a page that asks for a passkey (WebAuthn L3 §5.1)', () => {
  it.each([
    ['password', 'get', 'autocomplete="username webauthn"'],
    ['totp', 'get', 'Use a passkey'],
    ['passkey', 'get', 'Use your passkey'],
    ['passkey_enrolment', 'create', 'Not now'],
  ])(
    '%s runs script files of ours alone, and says what the browser is asked for',
    async (name, use, also) => {
      const gateway = open(name);
      const { statusCode, body, headers: answered } = await show(gateway);
      expect(statusCode).toBe(200);
      expect(answered['content-security-policy']).toContain("script-src 'self'");
      const scripts = body.match(/<script[^>]*>/g) ?? [];
      expect(scripts.filter((tag) => !/^<script src="\/assets\/[^"]+" defer>$/.test(tag))).toEqual([]);
      const script = await gateway.app.inject(
        /<script src="([^"]*passkey[^"]*)" defer>/.exec(body)?.[1] ?? '',
      );
      expect(script.headers['content-type']).toBe('text/javascript; charset=utf-8');
      expect(body).toContain(`data-passkey="${use}"`);
      expect(body).toContain(`data-options="${options.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`);
      expect(body).toContain('name="passkey_nonce" value="n0nce"');
      expect(body).toContain(also);
    },
  );

  it('asks for none, and runs no script of passkeys, where nothing is asked', async () => {
    const { body, headers: answered } = await show(
      open('password', { getInteraction: () => ({ step: { name: 'password', interaction } }) }),
    );
    expect(body).not.toMatch(/passkey|webauthn/);
    expect(answered['content-security-policy']).toContain("script-src 'self'");
  });

  it('passes on what the browser answered, and says that it was refused on the page that comes back', async () => {
    const step = { name: 'password', interaction, problem: 'wrong_passkey', shown };
    const gateway = open('password', { continue: () => ({ next: { next: { case: 'step', value: step } } }) });
    const answer = await send(gateway, { passkey: '{"id":"x"}', passkey_nonce: 'n0nce' });
    expect(answer.statusCode).toBe(401);
    expect(answer.body).toContain('This passkey can&#39;t be used here');
    expect(gateway.requests('continue')[0]).toMatchObject({
      step: 'passkey',
      fields: { passkey: '{"id":"x"}', passkey_nonce: 'n0nce' },
    });
    await send(gateway, { identifier: 'ada', password: 'engine', passkeys: 'make' });
    expect(gateway.requests('continue')[1]).toMatchObject({
      step: 'password',
      fields: { identifier: 'ada', password: 'engine', passkeys: 'make' },
    });
    await send(gateway, { passkey_created: '', passkey_nonce: 'n0nce', passkey_later: 'yes' });
    expect(gateway.requests('continue')[2]).toMatchObject({
      step: 'passkey_enrolment',
      fields: { passkey_later: 'yes' },
    });
  });
});
