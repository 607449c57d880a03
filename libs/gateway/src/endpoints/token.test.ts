import { describe, expect, it } from 'vitest';
import { Code, ConnectError } from '@connectrpc/connect';
import { errorTable, OAuthError, temporarilyUnavailable, type ErrorCode } from '@tessera/oauth';
import { ClientAuthenticationMethod } from '@tessera/proto-gen/token';
import { testRuntime } from '@tessera/test-kit';
import { openGateway, type Behaviours } from '../testing/fake-services.ts';

const issued = { accessToken: 'at', expiresIn: 600, scope: 'orders.read' };
const open = (exchange: NonNullable<Behaviours['exchange']> = () => issued) =>
  openGateway(testRuntime(), { exchange });

const formType = { 'content-type': 'application/x-www-form-urlencoded' };
const jsonType = { 'content-type': 'application/json' };
const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

async function post(
  gateway: ReturnType<typeof open>,
  body: object | string,
  headers: Record<string, string> = {},
) {
  const json = typeof body === 'object';
  return gateway.app.inject({
    method: 'POST',
    url: '/token',
    headers: { ...(json ? jsonType : formType), ...headers },
    payload: json ? JSON.stringify(body) : body,
  });
}

const jsonRequest = { grantType: 'client_credentials', clientId: 'svc', clientSecret: 's3cret' };
const formRequest = 'grant_type=client_credentials&client_id=svc&client_secret=s3cret';

describe('POST /token in the contract dialect', () => {
  it('answers in the envelope with the applicable fields of the contract only', async () => {
    const answer = await post(open(), jsonRequest);
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({
      isSuccess: true,
      data: { accessToken: 'at', tokenType: 'Bearer', expiresIn: 600, scope: 'orders.read' },
    });
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('adds refresh and ID token if they were issued', async () => {
    const gateway = open(() => ({ ...issued, refreshToken: 'rt', idToken: 'idt' }));
    const { data } = (await post(gateway, jsonRequest)).json<{ data: object }>();
    expect(data).toMatchObject({ refreshToken: 'rt', idToken: 'idt' });
  });

  it('forwards every parameter of the contract under its own name, and the address of the connection', async () => {
    const gateway = open();
    const parameters = {
      code: 'c',
      codeVerifier: 'v',
      redirectUri: 'https://app/cb',
      refreshToken: 'r',
      deviceCode: 'd',
      authReqId: 'a',
      scope: 's',
      resource: 'https://api',
    };
    await post(gateway, {
      ...jsonRequest,
      grantType: 'ciba',
      ...parameters,
      ipAddress: '1.1.1.1',
      unknown: 'x',
    });
    expect(gateway.requests('exchange')[0]).toMatchObject({
      ...parameters,
      grantType: 'ciba',
      credentials: {
        clientId: 'svc',
        clientSecret: 's3cret',
        method: ClientAuthenticationMethod.CLIENT_SECRET_POST,
      },
      caller: { ipAddress: '127.0.0.1', issuer: 'http://localhost' },
    });
  });

  it.each(['authorization_code', 'client_credentials', 'refresh_token', 'device_code', 'ciba'])(
    'takes the grant type %s',
    async (grantType) => {
      const gateway = open();
      expect((await post(gateway, { ...jsonRequest, grantType })).statusCode).toBe(200);
      expect(gateway.requests('exchange')[0]?.grantType).toBe(grantType);
    },
  );

  it.each(['password', 'urn:ietf:params:oauth:grant-type:unheard-of', 'Client_Credentials', ' ciba'])(
    'answers unsupported_grant_type to %j',
    async (grantType) => {
      const answer = await post(open(), { ...jsonRequest, grantType });
      expect([answer.statusCode, answer.json()]).toEqual([
        400,
        { isSuccess: false, error: 'unsupported_grant_type', message: 'The grant type is not supported.' },
      ]);
    },
  );
});

describe('POST /token with the names of the other dialect', () => {
  const messageOf = async (answer: Awaited<ReturnType<typeof post>>) => {
    const { message, error_description: description } = answer.json<Record<string, string>>();
    return message ?? description;
  };

  it.each([
    [
      { grant_type: 'client_credentials' },
      'The grant type is missing. JSON takes grantType, not grant_type.',
    ],
    [
      { grantType: 'client_credentials', client_id: 'svc' },
      'The client identifier is missing. JSON takes clientId, not client_id.',
    ],
    [
      { ...jsonRequest, grantType: 'urn:ietf:params:oauth:grant-type:device_code' },
      'The grant type is not supported. JSON takes device_code.',
    ],
  ])('in JSON says what JSON takes: %j', async (parameters, message) => {
    expect(await messageOf(await post(open(), parameters))).toBe(message);
  });

  it.each([
    [
      { grantType: 'client_credentials' },
      'The grant type is missing. A form takes grant_type, not grantType.',
    ],
    [
      { grant_type: 'client_credentials', clientId: 'svc' },
      'The client identifier is missing. A form takes client_id, not clientId.',
    ],
    [
      { grant_type: 'device_code', client_id: 'svc', client_secret: 'x' },
      'The grant type is not supported. A form takes urn:ietf:params:oauth:grant-type:device_code.',
    ],
  ])('in a form says what a form takes: %j', async (parameters, message) => {
    expect(await messageOf(await post(open(), new URLSearchParams(parameters).toString()))).toBe(message);
  });

  it('says so too when a service refuses what it did not get, in the words of the dialect', async () => {
    const gateway = open(() => {
      throw new OAuthError('invalid_request', 'The parameter code_verifier is missing.');
    });
    const sent = { ...jsonRequest, grantType: 'authorization_code', code: 'c', code_verifier: 'v' };
    expect(await messageOf(await post(gateway, sent))).toBe(
      'The parameter codeVerifier is missing. JSON takes codeVerifier, not code_verifier.',
    );
  });

  it('does not say so of other parameters, or of trouble', async () => {
    const unavailable = open(() => {
      throw new OAuthError('temporarily_unavailable', 'Later.');
    });
    expect(await messageOf(await post(unavailable, { ...jsonRequest, code_verifier: 'v' }))).toBe('Later.');
    expect(await messageOf(await post(open(), { ...jsonRequest, grantType: '', some_other: 'v' }))).toBe(
      'The grant type is missing.',
    );
  });
});

describe('POST /token in the standard dialect (RFC 6749 §5.1)', () => {
  it('answers without an envelope in snake_case', async () => {
    const gateway = open(() => ({ ...issued, refreshToken: 'rt', idToken: 'idt' }));
    const answer = await post(gateway, formRequest);
    expect(answer.json()).toEqual({
      access_token: 'at',
      token_type: 'Bearer',
      expires_in: 600,
      scope: 'orders.read',
      refresh_token: 'rt',
      id_token: 'idt',
    });
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
  });

  it('forwards every parameter', async () => {
    const gateway = open();
    const grant = 'urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code';
    await post(
      gateway,
      `grant_type=${grant}&client_id=svc&code=c&code_verifier=v&redirect_uri=https%3A%2F%2Fapp%2Fcb&refresh_token=r` +
        '&device_code=d&auth_req_id=a&scope=s+t&resource=https%3A%2F%2Fapi',
    );
    expect(gateway.requests('exchange')[0]).toMatchObject({
      grantType: 'device_code',
      credentials: { clientId: 'svc', clientSecret: '', method: ClientAuthenticationMethod.NONE },
      code: 'c',
      codeVerifier: 'v',
      redirectUri: 'https://app/cb',
      refreshToken: 'r',
      deviceCode: 'd',
      authReqId: 'a',
      scope: 's t',
      resource: 'https://api',
    });
  });

  it('refuses the short name of the device grant (RFC 8628 §3.4)', async () => {
    const answer = await post(open(), 'grant_type=device_code&client_id=svc');
    expect(answer.json()).toMatchObject({ error: 'unsupported_grant_type' });
  });
});

describe.each([
  ['contract', (parameters: Record<string, string>) => parameters],
  [
    'standard',
    (parameters: Record<string, string>) =>
      new URLSearchParams(
        Object.entries(parameters).map(([name, value]) => [
          name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`),
          value,
        ]),
      ).toString(),
  ],
] as const)('POST /token, client authentication and errors in the %s dialect', (dialect, write) => {
  const error = (body: object) => (body as { error: string }).error;
  const grant = { grantType: 'client_credentials' };

  it('accepts client_secret_basic with form-encoded halves (RFC 6749 §2.3.1)', async () => {
    const gateway = open();
    await post(gateway, write(grant), { authorization: basic('s%3Avc', 'a%2Bb+c') });
    expect(gateway.requests('exchange')[0]?.credentials).toMatchObject({
      clientId: 's:vc',
      clientSecret: 'a+b c',
      method: ClientAuthenticationMethod.CLIENT_SECRET_BASIC,
    });
  });

  it('refuses two authentication methods at once and two different identifiers (RFC 6749 §2.3)', async () => {
    for (const extra of [
      { clientId: 'svc', clientSecret: 's' },
      { clientId: 'other' },
      { clientSecret: 's' },
    ]) {
      const gateway = open();
      const answer = await post(gateway, write({ ...grant, ...extra }), { authorization: basic('svc', 's') });
      expect([answer.statusCode, error(answer.json())]).toEqual([400, 'invalid_request']);
      expect(gateway.requests('exchange')).toEqual([]);
    }
  });

  it.each([
    'Basic',
    'Basic !',
    'Basic c3Zj',
    basic('', 's'),
    basic('%zz', 's'),
    'Bearer abc',
    'Basic c3Zj OnM=',
  ])('answers 401 with WWW-Authenticate to the Authorization header %j', async (authorization) => {
    const answer = await post(open(), write(grant), { authorization });
    expect([answer.statusCode, error(answer.json())]).toEqual([401, 'invalid_client']);
    expect(answer.headers['www-authenticate']).toMatch(/^Basic realm=/);
  });

  it('answers invalid_request if grant type or client identifier is missing', async () => {
    for (const parameters of [
      { clientId: 'svc' },
      { ...grant, grantType: '' },
      grant,
      { ...grant, clientId: '' },
    ]) {
      const answer = await post(open(), write(parameters));
      expect([answer.statusCode, error(answer.json())]).toEqual([400, 'invalid_request']);
    }
  });

  const hidden = new Set([
    'expectation_failed',
    'method_not_allowed',
    'not_found',
    'payload_too_large',
    'unsupported_media_type',
  ]);
  const codes = Object.keys(errorTable).filter((code) => !hidden.has(code)) as ErrorCode[];

  it.each(codes)('answers %s with the status of the error table', async (code) => {
    const gateway = open(() => {
      throw new OAuthError(code, 'Because.', { cause: new Error('private') });
    });
    const answer = await post(gateway, write({ ...grant, clientId: 'svc' }));
    expect(answer.statusCode).toBe(errorTable[code].status);
    expect(answer.json()).toEqual(
      dialect === 'contract'
        ? { isSuccess: false, error: code, message: 'Because.' }
        : { error: code, error_description: 'Because.' },
    );
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['www-authenticate']).toBeUndefined();
  });

  it('answers 503 for an unreachable service and 429 for a throttled client, both with Retry-After', async () => {
    const unavailable = await post(
      open(() => {
        throw temporarilyUnavailable();
      }),
      write({ ...grant, clientId: 'svc' }),
    );
    expect([unavailable.statusCode, unavailable.headers['retry-after']]).toEqual([503, '1']);
    const throttled = await post(
      open(() => {
        throw new OAuthError('rate_limited', 'Later.', { retryAfterSeconds: 17 });
      }),
      write({ ...grant, clientId: 'svc' }),
    );
    expect([throttled.statusCode, throttled.headers['retry-after']]).toEqual([429, '17']);
  });

  it('answers server_error without detail for an unexpected error', async () => {
    for (const [thrown, expected] of [
      [new Error('secret detail'), [500, 'server_error']],
      [new ConnectError('secret detail', Code.NotFound), [500, 'server_error']],
      // A peer of another version that does not take the message.
      [new ConnectError('secret detail', Code.InvalidArgument), [503, 'temporarily_unavailable']],
    ] as const) {
      const answer = await post(
        open(() => {
          throw thrown;
        }),
        write({ ...grant, clientId: 'svc' }),
      );
      expect([answer.statusCode, error(answer.json())]).toEqual(expected);
      expect(answer.body).not.toContain('secret detail');
    }
  });
});

describe('POST /token, bodies', () => {
  it.each([
    ['{', 400],
    ['[]', 400],
    ['{"grantType":["client_credentials"],"clientId":"svc"}', 400],
    ['{"grantType":"client_credentials","grantType":"refresh_token","clientId":"svc"}', 400],
    ['{"grantType":"client_credentials","clientId":"\\ud800"}', 400],
    [`{"grantType":"client_credentials","scope":"${'x'.repeat(70_000)}"}`, 413],
    ['', 400],
    ['grant_type=client_credentials&client_id=svc', 400],
  ])('refuses the JSON body %.60j with %i and never grants', async (payload, status) => {
    const gateway = open();
    const answer = await gateway.app.inject({ method: 'POST', url: '/token', headers: jsonType, payload });
    expect([answer.statusCode, answer.json()]).toMatchObject([
      status,
      { isSuccess: false, error: 'invalid_request' },
    ]);
    expect(gateway.requests('exchange')).toEqual([]);
  });

  it.each([
    ['grant_type=client_credentials&grant_type=refresh_token&client_id=svc', 400],
    ['grant_type=client_credentials&client_id=%zz', 400],
    [`grant_type=client_credentials&client_id=svc&scope=${'x'.repeat(70_000)}`, 413],
    ['{"grant_type":"client_credentials","client_id":"svc"}', 400],
    ['', 400],
  ])('refuses the form body %.60j with %i and never grants', async (payload, status) => {
    const gateway = open();
    const answer = await gateway.app.inject({ method: 'POST', url: '/token', headers: formType, payload });
    expect([answer.statusCode, answer.json<{ error: string }>().error]).toEqual([status, 'invalid_request']);
    expect(gateway.requests('exchange')).toEqual([]);
  });

  it.each([
    'text/plain',
    'application/jsonX',
    'application/json garbage',
    'application/json;;',
    'application/json; charset=utf-16',
    'application/json, application/json',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded; charset=latin1',
    '/',
    'x',
  ])('answers 415 to the content type %j', async (type) => {
    const gateway = open();
    const answer = await gateway.app.inject({
      method: 'POST',
      url: '/token',
      headers: { 'content-type': type },
      payload: JSON.stringify(jsonRequest),
    });
    expect([answer.statusCode, answer.json()]).toMatchObject([
      415,
      { isSuccess: false, error: 'invalid_request' },
    ]);
    expect(gateway.requests('exchange')).toEqual([]);
  });

  it('answers 415 to compressed bodies and to a body without a content type', async () => {
    const gateway = open();
    const payload = JSON.stringify(jsonRequest);
    const compressed = await post(gateway, jsonRequest, { 'content-encoding': 'gzip' });
    const untyped = await gateway.app.inject({
      method: 'POST',
      url: '/token',
      payload: Buffer.from(payload),
    });
    expect([compressed.statusCode, untyped.statusCode]).toEqual([415, 415]);
    expect(gateway.requests('exchange')).toEqual([]);
  });
});
