import { describe, expect, it } from 'vitest';
import { OAuthError } from '@tessera/oauth';
import { Decision } from '@tessera/proto-gen/device';
import { antiForgery } from '@tessera/pages';
import { browserId, cookie, now, openForAda, session } from '../../testing/ada-browser.ts';
import type { Behaviours } from '../../testing/fake-services.ts';
import { purpose } from '../form.ts';

const waiting = (requestId: string) => ({
  requestId,
  tenantId: 'acme',
  clientId: 'desk',
  applicationName: 'Acme Desk',
  scopes: ['openid', 'orders.read'],
  ipAddress: '127.0.0.1',
  bindingMessage: 'W4SCT',
  expiresAt: 0n,
});
const application = {
  scopes: [{ name: 'orders.read', audience: 'https://api', description: '', resourceName: 'Orders API' }],
};

const open = (behaviours: Behaviours = {}, environment: Record<string, string> = {}) =>
  openForAda(
    {
      listBackchannelAuthentications: () => ({ requests: [waiting('r1'), waiting('r2')] }),
      getApplication: () => ({ application, tenant: { tenantId: 'acme', name: 'Acme' } }),
      decideBackchannelAuthentication: () => ({}),
      ...behaviours,
    },
    environment,
  );
type Gateway = ReturnType<typeof open>;

const html = { accept: 'text/html', cookie };
const get = (gateway: Gateway, url = '/approvals', headers: Record<string, string> = {}) =>
  gateway.app.inject({ method: 'GET', url, headers: { ...html, ...headers } });
const post = (gateway: Gateway, values: Record<string, string>, headers: Record<string, string> = {}) =>
  gateway.app.inject({
    method: 'POST',
    url: '/approvals',
    headers: { ...html, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(values).toString(),
  });
const csrf = (of: string) => antiForgery.token(browserId, of);

describe('GET /approvals', () => {
  it('lists pending requests with binding message, application, scopes and address (CIBA-5)', async () => {
    const gateway = open();
    const { statusCode, body } = await get(gateway);
    expect(statusCode).toBe(200);
    for (const text of [
      '2 requests are waiting',
      'Acme Desk',
      'W4SCT',
      'use Orders API',
      'orders.read',
      '127.0.0.1',
      csrf(purpose.decide('r1')),
      'href="/approvals?request=r2"',
    ]) {
      expect(body).toContain(text);
    }
    expect(gateway.requests('listBackchannelAuthentications')).toMatchObject([
      { tenantId: 'acme', userId: 'u1' },
    ]);
  });

  const ways = (body: string) => ({
    /** Of the requests whose buttons the page has. */
    decided: [...body.matchAll(/name="request" value="([^"]+)"/g)].map(([, id]) => id),
    primary: body.match(/<button (?![^>]*class=)[^>]*>/g)?.length ?? 0,
    reviewed: [...body.matchAll(/href="\/approvals\?request=([^"]+)"/g)].map(([, id]) => id),
    over: body.includes('The request was no longer pending.'),
  });

  it('has one primary action: the first request, or the one that is reviewed', async () => {
    const shown = { primary: 1, over: false };
    expect(ways((await get(open())).body)).toEqual({ ...shown, decided: ['r1'], reviewed: ['r2'] });
    const { body } = await get(open(), '/approvals?request=r2');
    expect(ways(body)).toEqual({ ...shown, decided: ['r2'], reviewed: ['r1'] });
    const gone = await get(open(), '/approvals?request=gone');
    expect(ways(gone.body)).toEqual({ primary: 1, over: true, decided: ['r1'], reviewed: ['r2'] });
    const none = await get(open({ listBackchannelAuthentications: () => ({ requests: [] }) }));
    expect(ways(none.body)).toEqual({ primary: 0, over: false, decided: [], reviewed: [] });
  });

  it('leads to the account, also once all is decided', async () => {
    const decided = { cookie: `${html.cookie}; tessera_decided=approved` };
    const { body } = await get(
      open({ listBackchannelAuthentications: () => ({ requests: [] }) }),
      '/approvals',
      decided,
    );
    expect(body).toContain('You approved the request.');
    expect(body).toContain('<a href="/account?tenant=acme">Go to your account</a>');
    expect((await get(open())).body).toContain('<a href="/account?tenant=acme">Go to your account</a>');
  });

  it('allows one script file of its own and no other script', async () => {
    const gateway = open();
    const { headers, body } = await get(gateway);
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("connect-src 'self'");
    expect(policy).not.toContain('unsafe');
    const scripts = body.match(/<script[^>]*>/g);
    expect(scripts).toHaveLength(1);
    const src = /src="([^"]+)"/.exec(scripts?.[0] ?? '')?.[1] ?? '';
    const script = await gateway.app.inject({ method: 'GET', url: src });
    expect([script.statusCode, script.headers['content-type']]).toEqual([
      200,
      'text/javascript; charset=utf-8',
    ]);
  });

  it('asks for the organization, then for a sign-in there, if nobody is signed in', async () => {
    const gateway = open({ getSession: () => ({}) });
    expect((await get(gateway)).body).toContain('name="tenant"');
    expect((await get(gateway, '/approvals?tenant=No%20Such')).body).toContain('name="tenant"');
    const { statusCode, body } = await get(gateway, '/approvals?tenant=acme');
    expect(statusCode).toBe(200);
    expect(body).toContain('name="password"');
    const fresh = await get(gateway, '/approvals?tenant=acme', { cookie: '' });
    const given = fresh.cookies[0]?.value ?? '';
    expect(fresh.body).toContain(`value="${antiForgery.token(given, purpose.signInTo('acme'))}"`);
    expect(gateway.requests('listBackchannelAuthentications')).toEqual([]);
  });

  it('does not repeat a tenant that is too long to be valid', async () => {
    const long = encodeURIComponent('"'.repeat(4_000));
    const answer = await get(open(), `/approvals?tenant=${long}`, { cookie: '' });
    expect(answer.statusCode).toBe(200);
    expect(answer.body.length).toBeLessThan(8_000);
  });

  it('asks for the password again if the sign-in is too old', async () => {
    const gateway = open({ getSession: () => ({ session: { ...session, authentication: { time: 0 } } }) });
    const { body } = await get(gateway);
    expect(body).toContain('Confirm that it is you');
    expect(gateway.requests('listBackchannelAuthentications')).toEqual([]);
  });

  it('shows the request that was to be reviewed once they have signed in again', async () => {
    const gateway = open({ getSession: () => ({ session: { ...session, authentication: { time: 0 } } }) });
    const { body } = await get(gateway, '/approvals?request=r2');
    expect(body).toContain('name="request" value="r2"');
    const decided = await post(gateway, {
      request: 'r2',
      decision: 'approve',
      csrf: csrf(purpose.decide('r2')),
    });
    expect(decided.headers.location).toBe('/approvals?request=r2');
  });

  it('offers to sign out of a session of another tenant', async () => {
    const { statusCode, body } = await get(open(), '/approvals?tenant=globex');
    expect(statusCode).toBe(400);
    expect(body).toContain('action="/logout"');
  });

  it('shows the result of a decision once', async () => {
    const answer = await get(open(), '/approvals', { cookie: `${html.cookie}; tessera_decided=denied` });
    expect(answer.body).toContain('You denied the request.');
    expect(answer.cookies).toMatchObject([{ name: 'tessera_decided', value: '', maxAge: 0 }]);
  });
});

describe('POST /approvals', () => {
  it('decides nothing if the sign-in is older than TESSERA_APPROVAL_MAX_AGE, and shows the list again', async () => {
    const decide = { request: 'r1', decision: 'approve', csrf: csrf(purpose.decide('r1')) };
    const old = { ...session, authentication: { time: now - 601 } };
    const strict = { TESSERA_APPROVAL_MAX_AGE: '10m' };
    const gateway = open({ getSession: () => ({ session: old }) }, strict);
    const answer = await post(gateway, decide);
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/approvals?request=r1']);
    expect(gateway.requests('decideBackchannelAuthentication')).toEqual([]);
    const recent = { ...session, authentication: { time: now - 600 } };
    const other = open({ getSession: () => ({ session: recent }) }, strict);
    await post(other, decide);
    expect(other.requests('decideBackchannelAuthentication')).toHaveLength(1);
  });

  it('signs in only to the tenant of the form', async () => {
    const gateway = open({ getSession: () => ({}) });
    const values = { tenant: 'acme', identifier: 'ada', password: 'engine' };
    const answer = await post(gateway, { ...values, csrf: csrf(purpose.signInTo('acme')) });
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/approvals']);
    expect(gateway.requests('continue')).toMatchObject([
      {
        visit: { case: 'page', value: { tenantId: 'acme' } },
        step: 'password',
        fields: { identifier: 'ada' },
      },
    ]);
    const other = await post(gateway, {
      ...values,
      tenant: 'globex',
      csrf: csrf(purpose.signInTo('acme')),
    });
    expect(other.statusCode).toBe(400);
  });

  it('begins a sign-in anew whose visit is gone, as after a failover of Redis', async () => {
    const gateway = open({
      getSession: () => ({}),
      continue: () => {
        throw new OAuthError('invalid_request', 'The authorization context is invalid or has expired.');
      },
    });
    const values = { tenant: 'acme', interaction: 'ti_gone', step: 'totp', totp_code: '123456' };
    const answer = await post(gateway, { ...values, csrf: csrf(purpose.signInTo('acme')) });
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('This sign-in has expired. Start again.');
    expect(answer.body).toContain('name="password"');
    expect(answer.body).not.toContain('ti_gone');
    expect(gateway.requests('begin')).toMatchObject([
      { visit: { case: 'page', value: { tenantId: 'acme' } } },
    ]);
  });

  it('offers to sign out and return if the browser is now signed in to another tenant', async () => {
    const gateway = open({
      getSession: () => ({}),
      continue: () => ({ next: { next: { case: 'tenantMismatch', value: {} } } }),
    });
    const values = { tenant: 'acme', identifier: 'ada', password: 'engine' };
    const answer = await post(gateway, { ...values, csrf: csrf(purpose.signInTo('acme')) });
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('The session in this browser belongs to another organization.');
    expect(answer.body).toContain('action="/logout"');
    expect(answer.body).toContain('name="going" value="approvals"');
    expect(answer.body).toContain('name="tenant" value="acme"');
  });

  it.each([
    ['approve', Decision.APPROVE, 'approved'],
    ['deny', Decision.DENY, 'denied'],
  ])('forwards the decision %s', async (decision, expected, outcome) => {
    const gateway = open();
    const answer = await post(gateway, { request: 'r1', decision, csrf: csrf(purpose.decide('r1')) });
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/approvals']);
    expect(answer.cookies).toMatchObject([{ name: 'tessera_decided', value: outcome }]);
    expect(gateway.requests('decideBackchannelAuthentication')).toMatchObject([
      { requestId: 'r1', decision: expected, approver: { tenantId: 'acme', userId: 'u1', sessionId: 's1' } },
    ]);
  });

  it('requires a new sign-in for an approval if the current one is no longer valid', async () => {
    const gateway = open({
      decideBackchannelAuthentication: () => {
        throw new OAuthError('login_required', 'Sign in again to approve the request.');
      },
    });
    const values = {
      request: 'r1',
      client_id: 'acme-payroll',
      decision: 'approve',
      csrf: csrf(purpose.decide('r1')),
    };
    const answer = await post(gateway, values);
    expect(answer.statusCode).toBe(400);
    // The application goes along, as its policy may ask for more than the tenant's.
    expect(answer.body).toContain('name="client_id" value="acme-payroll"');
    for (const text of ['Confirm that it is you', 'Sign in again to approve', 'value="ada"']) {
      expect(answer.body).toContain(text);
    }
    expect(answer.body).toContain(`value="${csrf(purpose.signInTo('acme'))}"`);
    expect(answer.cookies).toEqual([]);
  });

  it('forwards a refused approval', async () => {
    const gateway = open({
      decideBackchannelAuthentication: () => {
        throw new OAuthError('access_denied', 'The request cannot be approved.');
      },
    });
    const values = { request: 'r1', decision: 'approve', csrf: csrf(purpose.decide('r1')) };
    const answer = await post(gateway, values);
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('The request cannot be approved.');
  });

  it.each([
    ['no anti-forgery field', {}, {}],
    ['the field of another request', { csrf: csrf(purpose.decide('r2')) }, {}],
    ['a foreign origin', { csrf: csrf(purpose.decide('r1')) }, { origin: 'https://evil.example' }],
  ] as const)('refuses a decision with %s', async (_what, values, headers) => {
    const gateway = open();
    const sent = { request: 'r1', decision: 'approve', ...values };
    expect((await post(gateway, sent, { ...headers })).statusCode).toBe(400);
    expect(gateway.requests('decideBackchannelAuthentication')).toEqual([]);
  });
});
