import { OAuthError } from '@tessera/oauth';
import { testRuntime } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import { antiForgery } from '@tessera/pages';
import { openGateway, type Behaviours } from '../../testing/fake-services.ts';
import { purpose } from '../form.ts';

const browserId = `tb_${'a'.repeat(43)}`;
const headers = { accept: 'text/html', cookie: `tessera_browser=${browserId}` };
const interaction = { interactionId: 'ti_abc', tenantId: 'acme', applicationName: 'Acme Web' };
const providers = JSON.stringify({ shown: [{ name: 'corp', displayName: 'C & A' }], hasDomains: true });
const shown = { providers };
const query = 'code=a-code&state=ti_abc.x&iss=https%3A%2F%2Fidp.example';

const open = (answers: Partial<Behaviours>) => openGateway(testRuntime(), answers);
const step = (problem = '') => ({
  next: { next: { case: 'step' as const, value: { name: 'password', interaction, shown, problem } } },
});
const get = (gateway: ReturnType<typeof open>, url: string) =>
  gateway.app.inject({ method: 'GET', url, headers });
const post = (gateway: ReturnType<typeof open>, url: string, fields: Record<string, string>) =>
  gateway.app.inject({
    method: 'POST',
    url,
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(fields).toString(),
  });

describe('the first page of a tenant with providers', () => {
  it('has a button for each, asks for the identifier alone, and may lead elsewhere', async () => {
    const gateway = open({ getInteraction: () => ({ step: { name: 'password', interaction, shown } }) });
    const { body, headers: answered } = await get(gateway, '/login?interaction=ti_abc');
    expect(body).toContain(
      '<button class="second" type="submit" name="provider" value="corp">Continue with C &amp; A',
    );
    expect(body).toContain('<button type="submit" name="provider" value="">Continue</button>');
    expect(body).not.toContain('name="password"');
    expect(answered['content-security-policy']).not.toContain('form-action');
  });

  it('asks for the password where the domain leads to none, names whom, and has a way back', async () => {
    const gateway = open({ continue: () => step('unknown_domain') });
    const csrf = antiForgery.token(browserId, purpose.signIn('ti_abc'));
    const form = { interaction: 'ti_abc', csrf, provider: '' };
    const named = await post(gateway, '/login', { ...form, identifier: 'ada <b>' });
    expect(named.statusCode).toBe(200);
    expect(named.body).toMatch(/name="identifier" type="text" value="ada &lt;b&gt;"[^>]* readonly/);
    expect(named.body).toContain('name="password"');
    expect(named.body).not.toContain('class="problem" role="alert" aria-live="assertive">Y');
    expect(named.body).toContain('name="provider" value="">Not you?</button>');
    const again = await post(gateway, '/login', { ...form, identifier: '' });
    expect([again.statusCode, again.body.includes('name="password"')]).toEqual([200, false]);
  });

  it('keeps the name when the password was wrong', async () => {
    const gateway = open({ continue: () => step('wrong_credentials') });
    const csrf = antiForgery.token(browserId, purpose.signIn('ti_abc'));
    const form = { interaction: 'ti_abc', csrf, identifier: 'ada', password: 'wrong' };
    const { statusCode, body } = await post(gateway, '/login', form);
    expect(statusCode).toBe(401);
    expect(body).toContain('Wrong user name or password.');
    expect(body).toMatch(/value="ada"[^>]* readonly/);
    expect(body).toContain('name="password"');
  });

  it('sends the browser to the provider that was chosen, whatever else the form has', async () => {
    const location = 'https://idp.example/authorize?state=x';
    const gateway = open({
      continue: () => ({ next: { next: { case: 'redirect', value: { location } } } }),
    });
    const csrf = antiForgery.token(browserId, purpose.signIn('ti_abc'));
    const form = { interaction: 'ti_abc', csrf, identifier: 'ada@corp.example', password: 'x', provider: '' };
    const answer = await post(gateway, '/login', form);
    expect([answer.statusCode, answer.headers.location]).toEqual([302, location]);
    expect(gateway.requests('continue')[0]).toMatchObject({
      step: 'provider',
      fields: { provider: '', identifier: 'ada@corp.example', resume: '' },
    });
  });

  it.each([
    ['/device', purpose.signInTo('ABCD-EFGH'), 'going=device&user_code=ABCD-EFGH&tenant=acme&client_id='],
    ['/approvals', purpose.signInTo('acme'), 'going=approvals&tenant=acme&client_id='],
    ['/password', purpose.signInTo('acme'), 'going=password&tenant=acme'],
    ['/account', purpose.signInTo('acme'), 'going=account&tenant=acme&visit=see&page=overview'],
  ])('tells authorize how %s goes on', async (url, of, resume) => {
    const location = 'https://idp.example/authorize';
    const gateway = open({
      continue: () => ({ next: { next: { case: 'redirect', value: { location } } } }),
      getDeviceAuthorization: () => ({ request: { tenantId: 'acme' } }),
    });
    const csrf = antiForgery.token(browserId, of);
    const form = { csrf, tenant: 'acme', user_code: 'ABCD-EFGH', provider: 'corp' };
    expect((await post(gateway, url, form)).headers.location).toBe(location);
    expect(gateway.requests('continue')[0]?.fields).toMatchObject({ provider: 'corp', resume });
  });
});

describe('GET /login/provider/:tenant/:provider', () => {
  const url = `/login/provider/acme/corp?${query}`;

  it.each([
    ['', 'provider_linked'],
    ['taken', 'link_taken'],
    ['denied_answer', 'link_denied'],
    ['unreachable', 'link_unreachable'],
    ['not_recent', 'link_failed'],
    ['of a newer version', 'link_failed'],
  ])(
    'leads back to the account page after a link (%s), with what became of it',
    async (linkProblem, result) => {
      const next = { next: { case: 'done' as const, value: {} } };
      const resume = 'going=account&tenant=acme';
      const answer = await get(open({ answerFromProvider: () => ({ next, resume, linkProblem }) }), url);
      expect([answer.statusCode, answer.headers.location]).toEqual([303, '/account/sign-in?tenant=acme']);
      expect(answer.cookies).toMatchObject([{ name: 'tessera_account_result', value: result }]);
    },
  );

  it('passes on what the provider answered, and sends the browser on with its session', async () => {
    const session = { sessionToken: `ts_${'s'.repeat(43)}`, maxAge: 60 };
    const location = 'https://app.example/cb?code=tc_x';
    const gateway = open({
      answerFromProvider: () => ({ next: { next: { case: 'redirect', value: { location } } }, session }),
    });
    const answer = await get(gateway, url);
    expect([answer.statusCode, answer.headers.location]).toEqual([302, location]);
    expect(answer.headers['set-cookie']).toContain(`tessera_session=${session.sessionToken}`);
    expect(gateway.requests('answerFromProvider')[0]).toMatchObject({
      tenantId: 'acme',
      provider: 'corp',
      query,
      browser: { browserId },
    });
  });

  it.each([
    ['unreachable', 400, 'cannot be reached now'],
    ['denied_answer', 401, 'not signed in there'],
    ['invalid_answer', 401, 'could not be used'],
    ['not_recent', 401, 'ask you to sign in again'],
    ['no_account', 401, 'no account here'],
  ])('says that %s on the page that has the other ways to sign in', async (problem, status, sentence) => {
    const gateway = open({ answerFromProvider: () => step(problem) });
    const { statusCode, body } = await get(gateway, url);
    expect(statusCode).toBe(status);
    expect(body).toContain(sentence);
    expect(body).toContain('name="identifier"');
    expect(body).toContain('action="/login"');
    expect(body).toContain('name="interaction" value="ti_abc"');
  });

  it('shows what else is required', async () => {
    const totp = { name: 'totp', interaction, shown: {}, problem: '' };
    const gateway = open({
      answerFromProvider: () => ({ next: { next: { case: 'step', value: totp } } }),
    });
    expect((await get(gateway, url)).body).toContain('name="totp_code"');
  });

  it.each([
    ['going=device&user_code=ABCD-EFGH&tenant=acme', '/device?user_code=ABCD-EFGH&proof='],
    ['going=approvals&tenant=acme', '/approvals'],
    ['going=password&tenant=acme', '/password'],
    ['going=account&tenant=acme', '/account'],
  ])('goes on to our page (%s)', async (resume, location) => {
    const done = { next: { next: { case: 'done' as const, value: {} } }, resume };
    const answer = await get(open({ answerFromProvider: () => done }), url);
    expect(answer.statusCode).toBe(303);
    expect(answer.headers.location).toMatch(new RegExp(`^${location.replace('?', '\\?')}`));
    const refused = await get(open({ answerFromProvider: () => ({ ...step('no_account'), resume }) }), url);
    expect(refused.body).toContain(`action="${location.replace(/\?.*/, '')}"`);
    expect(refused.body).toContain('name="tenant" value="acme"');
  });

  it('has a way on for an answer that belongs to no sign-in of this browser', async () => {
    const refuse = () => {
      throw new OAuthError('invalid_request', 'The authorization context is invalid or has expired.');
    };
    const { statusCode, body } = await get(open({ answerFromProvider: refuse }), url);
    expect(statusCode).toBe(400);
    expect(body).toContain('This sign-in has expired');
    expect(body).toContain('Open the application you want to use and start from there.');
  });

  it('is a GET, and has a tenant and a provider', async () => {
    const gateway = open({});
    const posted = await post(gateway, '/login/provider/acme/corp', {});
    expect([posted.statusCode, posted.headers['allow']]).toEqual([405, 'GET']);
    for (const other of [
      '/login/provider',
      '/login/provider/acme',
      '/login/provider/acme/',
      '/login/provider/a/b/c',
    ])
      expect((await get(gateway, other)).statusCode, other).toBe(404);
  });
});
