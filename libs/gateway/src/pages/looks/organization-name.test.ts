import { describe, expect, it } from 'vitest';
import { OAuthError } from '@tessera/oauth';
import { antiForgery } from '@tessera/pages';
import { browserId, cookie, now, openForAda, session } from '../../testing/ada-browser.ts';
import type { Behaviours } from '../../testing/fake-services.ts';
import { purpose } from '../form.ts';

const name = 'Acme & Sons';
const named: Behaviours = { getTenantLooks: () => ({ name }) };
const nobody: Behaviours = { getSession: () => ({}) };
const account: Behaviours = {
  getAccount: () => ({ account: { session } }),
  listBackchannelAuthentications: () => ({ requests: [] }),
};
const long: Behaviours = {
  getSession: () => ({ session: { ...session, authentication: { time: now - 1e6 } } }),
};
const proof = antiForgery.token(browserId, purpose.openCode('WDJBMJHT'));
const wrongCode: Behaviours = {
  getDeviceAuthorization: () => {
    throw new OAuthError('not_found', 'The code is not valid or has expired.');
  },
};

const pages: [string, string, Behaviours][] = [
  ['the form of a new password', '/password', {}],
  ['a sign-in to change it', '/password?tenant=acme', nobody],
  ['a sign-in to the account', '/account?tenant=acme', nobody],
  ['the account', '/account', account],
  ['approvals', '/approvals', account],
  ['a sign-in that is too old for them', '/approvals', long],
  ['a wrong code of a device', `/device?user_code=WDJBMJHT&proof=${proof}`, wrongCode],
];

describe.each(pages)('%s calls the organization', (_what, url, behaviours) => {
  const open = async (more: Behaviours) => {
    const gateway = openForAda({ ...behaviours, ...more });
    const { body } = await gateway.app.inject({
      method: 'GET',
      url,
      headers: { accept: 'text/html', cookie },
    });
    const sentences = body.match(/<p class="(?:lead|quiet)">.*<\/p>/g)?.join('\n');
    return { sentences, looks: gateway.requests('getTenantLooks').length };
  };

  it('by its name, which is asked for once for all of the page', async () => {
    const { sentences, looks } = await open(named);
    expect(sentences).toMatch(/Acme &(amp|#38); Sons/);
    expect(sentences).not.toContain('acme');
    expect(looks).toBe(1);
  });

  it('by its identifier where it has no name, or the name cannot be found out', async () => {
    expect((await open({ getTenantLooks: () => ({ name: '' }) })).sentences).toContain('acme');
    expect((await open({})).sentences).toContain('acme');
  });
});
