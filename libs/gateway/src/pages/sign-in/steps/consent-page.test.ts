import { describe, expect, it } from 'vitest';
import { antiForgery } from '@tessera/pages';
import { purpose } from '../../form.ts';
import { browserId, cookie, openForAda } from '../../../testing/ada-browser.ts';

const ofOrders = { audience: 'https://orders.example', resourceName: 'Orders' };
const application = {
  clientId: 'partner',
  tenantId: 'acme',
  name: 'Partner',
  description: 'Shows orders.',
  descriptions: { de: 'Zeigt Bestellungen.' },
  publisher: 'Partner <Software>',
  homepage: 'https://partner.example/about',
  scopes: [
    { name: 'openid' },
    { name: 'read', ...ofOrders, description: 'see orders', descriptions: { de: 'Bestellungen sehen' } },
    { name: 'write', ...ofOrders, description: '' },
    { name: 'stock', audience: 'https://stock.example', resourceName: 'Stock', description: 'see the stock' },
  ],
};
const query = 'client_id=partner&scope=openid%20read';
const again = Buffer.from(query).toString('base64url');

function open(names: readonly string[], more: object = {}) {
  const shown = Object.fromEntries(names.map((name) => [`scope ${name}`, '']));
  const interaction = { interactionId: 'ti_abc', tenantId: 'acme', clientId: 'partner' };
  const step = { name: 'consent', interaction, shown: { ...shown, application: 'Partner', account: 'ada' } };
  return openForAda({
    getInteraction: () => ({ step }),
    getApplication: () => ({ application: { ...application, ...more }, tenant: { tenantId: 'acme' } }),
  });
}

async function show(gateway: ReturnType<typeof open>, language = 'en', address = `&again=${again}`) {
  const { body } = await gateway.app.inject({
    url: `/login?interaction=ti_abc${address}`,
    headers: { accept: 'text/html', cookie, 'accept-language': language },
  });
  return body;
}

describe('the page that asks for consent', () => {
  it('says who asks, what for, and for whom', async () => {
    const gateway = open(['openid', 'read']);
    const body = await show(gateway);
    for (const text of [
      '<strong>Partner</strong> asks for access to your account <strong>ada</strong>',
      'Shows orders.',
      'Partner &lt;Software&gt;',
      'href="https://partner.example/about" target="_blank" rel="noopener noreferrer"',
      '>partner.example</bdi>',
      'know who you are',
      'see orders',
    ])
      expect(body).toContain(text);
    expect(gateway.requests('getApplication')).toMatchObject([{ clientId: 'partner' }]);
  });

  it('says it in the language of the reader, where the organization does', async () => {
    const german = await show(
      open(['openid', 'read', 'write', 'stock', 'resource https://stock.example']),
      'de',
    );
    for (const text of ['Zeigt Bestellungen.', 'wissen, wer Sie sind', 'Bestellungen sehen', 'see the stock'])
      expect(german).toContain(text);
    expect(german).toContain('Orders nutzen');
    expect(german).toContain('Stock nutzen');
    expect(german).not.toContain('Shows orders.');
  });

  it('says no more than it knows, and how long access lasts', async () => {
    const bare = await show(
      open(['openid'], { publisher: '', homepage: '', description: '', descriptions: {} }),
    );
    expect(bare).not.toContain('Publisher');
    expect(bare).not.toContain('target="_blank"');
    const keeps = 'It keeps this access until you remove it at your account.';
    expect(bare).not.toContain(keeps);
    expect(await show(open(['openid', 'offline_access']))).toContain(keeps);
  });

  it('lists many scopes of one API below its name', async () => {
    const scopes = Array.from({ length: 6 }, (_, at) => ({ name: `orders.${at}`, ...ofOrders }));
    const body = await show(
      open(
        scopes.map(({ name }) => name),
        { scopes },
      ),
    );
    expect(body).toContain('<summary>use Orders: 6 permissions</summary>');
  });

  it('makes denying as easy as allowing: two buttons of one form, of one size', async () => {
    const body = await show(open(['openid']));
    const [, decision = ''] = /<div class="decision">([^]*?)<\/div>/.exec(body) ?? [];
    expect(decision.match(/name="consent" value="(?:allow|deny)"/g)).toHaveLength(2);
  });

  it('lets somebody else begin the request anew, where it is carried', async () => {
    const gateway = open(['openid']);
    const body = await show(gateway);
    const [, form = ''] = /<form class="not-you"([^]*?)<\/form>/.exec(body) ?? [];
    expect(form).toContain('action="/logout"');
    expect(form).toContain(`value="${antiForgery.token(browserId, purpose.signOut)}"`);
    expect(form).toContain(`name="continue" value="${query.replaceAll('&', '&amp;')}"`);
    expect(form).toContain('Not you?');
    for (const address of ['', `&again=${Buffer.from('&client_id=partner').toString('base64url')}`])
      expect(await show(gateway, 'en', address)).not.toContain('not-you');
  });
});
