import { describe, expect, it } from 'vitest';
import type { Terminal } from '../../terminal.ts';
import { verifyApplications } from './verify-applications.ts';

const issuer = 'https://id.example';
const metadata = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  device_authorization_endpoint: `${issuer}/device_authorization`,
};
const secret = 's'.repeat(32);
const web = {
  clientId: 'web',
  type: 'confidential',
  grantTypes: ['authorization_code', 'refresh_token'],
  redirectUris: ['https://web.example/cb', 'https://web.example/other'],
  scopes: ['openid', 'orders.read'],
  secrets: [{ value: secret }],
};

interface Answers {
  readonly authorize?: (parameters: URLSearchParams) => Response;
  readonly token?: (parameters: URLSearchParams, headers: Headers) => Response;
}

const redirect = (to: string) => new Response(null, { status: 302, headers: { location: to } });
const refusal = (error: string) =>
  Response.json({ error }, { status: error === 'invalid_client' ? 401 : 400 });

/** What is printed about an application at a server that answers so. */
async function verified(application: Readonly<Record<string, unknown>> | undefined, answers: Answers = {}) {
  let out = '';
  const asked: URLSearchParams[] = [];
  const pauses: number[] = [];
  const { authorize = () => redirect('/login?interaction=1'), token = () => refusal('invalid_grant') } =
    answers;
  const terminal: Terminal = {
    environment: {},
    out: (text) => (out += text),
    say: () => undefined,
    input: async () => '',
    sleep: async (pause) => void pauses.push(pause),
    now: () => 0,
    async fetch(input, init) {
      const url = new URL(input instanceof Request ? input.url : String(input));
      if (url.pathname.startsWith('/.well-known/')) return Response.json(metadata);
      if (url.pathname === '/authorize') {
        asked.push(url.searchParams);
        return authorize(url.searchParams);
      }
      const parameters = new URLSearchParams(init?.body as string);
      asked.push(parameters);
      return token(parameters, new Headers(init?.headers));
    },
  };
  const works = await verifyApplications(
    application === undefined ? [] : [application],
    { tenantId: 'acme', issuer },
    terminal,
  );
  const [line = ''] = out.split('\n');
  return { works, line, asked, pauses };
}

describe('an application that is tried', () => {
  it('fails where there is no application that could be tried', async () => {
    expect((await verified(undefined)).works).toBe(false);
  });

  it('works if it may ask people to sign in with S256 (RFC 7636), and its secret is right', async () => {
    const { works, line, asked } = await verified(web);
    expect([works, line]).toEqual([true, 'working: application web: sign-in, token endpoint']);
    expect(Object.fromEntries(asked[0] ?? [])).toMatchObject({
      client_id: 'web',
      redirect_uri: 'https://web.example/cb',
      scope: 'openid',
      code_challenge_method: 'S256',
    });
    expect(asked[1]?.get('grant_type')).toBe('authorization_code');
  });

  it.each([
    [{ authorize: () => new Response('', { status: 400 }) }, 'sign-in: answered with status 400'],
    [
      { authorize: () => redirect('https://web.example/cb?error=invalid_scope') },
      'sign-in: answered with invalid_scope',
    ],
    [{ token: () => refusal('invalid_client') }, 'token endpoint: invalid_client'],
    [
      { token: () => Response.json({ access_token: 'x', token_type: 'Bearer' }) },
      'token endpoint: answered without invalid_grant',
    ],
  ])('does not work where something is refused', async (answers: Answers, reason) => {
    const { works, line } = await verified(web, answers);
    expect([works, line]).toEqual([false, `not working: application web: ${reason}`]);
  });

  it('gets a token of its own for a scope of an API (RFC 6749 §4.4)', async () => {
    const batch = { ...web, clientId: 'batch', grantTypes: ['client_credentials'], redirectUris: [] };
    const token = (parameters: URLSearchParams, headers: Headers) =>
      parameters.get('scope') === 'orders.read' && headers.get('authorization')?.startsWith('Basic ')
        ? Response.json({ access_token: 'x', token_type: 'Bearer' })
        : refusal('invalid_scope');
    expect(await verified(batch, { token })).toMatchObject({
      works: true,
      line: 'working: application batch: token of its own',
    });
    const { line } = await verified({ ...batch, scopes: [] }, { token });
    expect(line).toBe('not working: application batch: token of its own: invalid_scope');
  });

  it('whose secret is not known is tried without it', async () => {
    const { works, line, asked } = await verified({ ...web, secrets: undefined });
    expect([works, line]).toEqual([true, 'working: application web: sign-in, its secret is not known here']);
    expect(asked).toHaveLength(1);
  });

  it('waits as long as the server says that has had too many requests (RFC 6585 §4)', async () => {
    let left = 2;
    const authorize = () =>
      (left -= 1) >= 0
        ? new Response('', { status: 429, headers: { 'retry-after': '3' } })
        : redirect('/login?interaction=1');
    const { works, pauses } = await verified(web, { authorize });
    expect([works, pauses]).toEqual([true, [3000, 3000]]);
  });
});
