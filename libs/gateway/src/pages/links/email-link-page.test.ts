import { describe, expect, it } from 'vitest';
import { Code, ConnectError } from '@tessera/rpc';
import { testRuntime } from '@tessera/test-kit';
import { antiForgery } from '@tessera/pages';
import { openGateway, type Behaviours } from '../../testing/fake-services.ts';
import { purpose } from '../form.ts';

const browserId = `tb_${'a'.repeat(43)}`;
const link = `te_${'b'.repeat(43)}`;
const html = { accept: 'text/html', cookie: `tessera_browser=${browserId}; tessera_session=ts_x` };
const csrf = antiForgery.token(browserId, purpose.confirmEmail('u1', link));
const session = {
  sessionId: 's1',
  tenantId: 'acme',
  userId: 'u1',
  username: 'ada',
  name: 'Ada',
  authentication: { time: 1_700_000_000 },
};
const gone = () => {
  throw new ConnectError('The link is not known.', Code.NotFound);
};

const open = (behaviours: Behaviours = {}) =>
  openGateway(testRuntime(), {
    getSession: () => ({ session }),
    getEmailLink: () => ({ email: 'ada@new.example' }),
    confirmEmail: () => ({}),
    ...behaviours,
  });
type Gateway = ReturnType<typeof open>;
const get = (gateway: Gateway, query = `?link=${link}`) =>
  gateway.app.inject({ method: 'GET', url: `/email/link${query}`, headers: html });
const post = (gateway: Gateway, values: Record<string, string> = {}) =>
  gateway.app.inject({
    method: 'POST',
    url: '/email/link',
    headers: { ...html, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ link, csrf, ...values }).toString(),
  });

describe('/email/link', () => {
  it('asks the person who is signed in whether the address is theirs, and changes nothing', async () => {
    const gateway = open();
    const { statusCode, body } = await get(gateway);
    expect(statusCode).toBe(200);
    for (const text of ['ada@new.example', '<strong>ada</strong>', csrf]) expect(body).toContain(text);
    expect(gateway.requests('getEmailLink')).toMatchObject([{ tenantId: 'acme', userId: 'u1', link }]);
    expect(gateway.requests('confirmEmail')).toEqual([]);
  });

  it('confirms it, and leads to a page whose address has no link', async () => {
    const gateway = open();
    const answer = await post(gateway);
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/email/link?confirmed=1']);
    expect(gateway.requests('confirmEmail')).toMatchObject([
      {
        tenantId: 'acme',
        userId: 'u1',
        authTime: BigInt(session.authentication.time),
        link,
        ipAddress: '127.0.0.1',
      },
    ]);
    expect((await get(gateway, '?confirmed=1')).body).toContain('Your email address is confirmed');
  });

  it.each([
    ['nobody is signed in', { getSession: () => ({}) }],
    ['it is of somebody else, or was used', { getEmailLink: gone, confirmEmail: gone }],
  ] as const)('says the same if %s', async (_why, behaviours) => {
    const gateway = open(behaviours);
    for (const { statusCode, body } of [await get(gateway), await post(gateway)]) {
      expect(statusCode).toBe(400);
      expect(body).toContain('This link is not valid');
      expect(body).not.toContain('ada@new.example');
    }
  });

  it('refuses a form without its anti-forgery field', async () => {
    const gateway = open();
    expect((await post(gateway, { csrf: '' })).statusCode).toBe(400);
    expect(gateway.requests('confirmEmail')).toEqual([]);
  });
});
