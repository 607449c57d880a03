import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { fastify } from 'fastify';
import { withoutSchemas } from '@tessera/kit';
import { createLogger } from '@tessera/telemetry';
import { OAuthError } from '@tessera/oauth';
import { testRuntime } from '@tessera/test-kit';
import { openGateway, type Behaviours, type TestGateway } from '../testing/fake-services.ts';
import { routes } from '../routes.ts';

const opened: TestGateway[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((gateway) => gateway.close()));
});

function open(
  behaviours: Behaviours = {},
  environment: Record<string, string> = {},
  options: Parameters<typeof openGateway>[3] = {},
  runtime = testRuntime(),
): TestGateway {
  const gateway = openGateway(runtime, behaviours, environment, options);
  opened.push(gateway);
  return gateway;
}

const html = { accept: 'text/html' };
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
const paths = [...new Set(routes.map(({ path }) => path))];

describe('hosts', () => {
  it.each(routes.map(({ method, path }) => [method, path] as const))(
    'that are not allowed are refused at %s %s before anything else is looked at',
    async (method, path) => {
      const answer = await open().app.inject({ method, url: path, headers: { host: 'evil.example' } });
      expect(answer.statusCode).toBe(path === '/.well-known/openid-configuration' ? 500 : 400);
      expect(answer.body).not.toContain('evil.example');
    },
  );
});

describe('the limits of a connection', () => {
  it('close a connection that pipelines requests without reading the responses', async () => {
    const gateway = open();
    const url = new URL(await gateway.listen({ host: '127.0.0.1', port: 0 }));
    const socket = connect(Number(url.port), '127.0.0.1');
    socket.pause();
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined);
    socket.write('GET /.well-known/jwks.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(5000));
    socket.resume();
    await ended;
  });

  it('allow any number of requests if the client reads the responses', async () => {
    const gateway = open();
    const url = new URL(await gateway.listen({ host: '127.0.0.1', port: 0 }));
    const socket = connect(Number(url.port), '127.0.0.1').setEncoding('utf8');
    let answers = 0;
    for (let round = 1; round <= 5; round += 1) {
      socket.write('GET /.well-known/jwks.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(16));
      while (answers < round * 16) {
        const [text] = (await once(socket, 'data')) as [string];
        answers += text.split('HTTP/1.1 200').length - 1;
      }
    }
    expect(answers).toBe(80);
    socket.destroy();
  });

  it('refuse any other spelling of a path, such as encoded letters', async () => {
    const { app } = open();
    for (const url of ['/intros%70ect', '/log%69n', '/%72evoke']) {
      expect((await app.inject({ method: 'GET', url, headers: { host: 'localhost' } })).statusCode).toBe(404);
    }
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const get = (target: string) =>
      raw(url, `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    const keySet = '/.well-known/jwks.json';
    expect(await get(`${keySet}?x=1`)).toMatch(/^HTTP\/1.1 200/);
    for (const rest of ['#', '#x', '#?x=1', ';', ';x=1', '%23', '/.', '/../jwks.json'])
      expect([rest, await get(`${keySet}${rest}`)]).toEqual([rest, expect.stringMatching(/^HTTP\/1.1 404/)]);
  });

  it('refuse a request target in absolute form, with any host (TEN-1)', async () => {
    const url = await open().app.listen({ host: '127.0.0.1', port: 0 });
    for (const start of [
      'http://localhost',
      'HTTP://localhost',
      'https://evil.example',
      'http://localhost?',
    ]) {
      const target = `${start}/.well-known/openid-configuration`;
      const answer = await raw(url, `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1.1 404/);
      expect(answer).not.toContain('evil.example');
    }
  });

  it('refuse two Host headers, because a proxy may have read the other one (RFC 9112 section 3.2)', async () => {
    const url = await open().app.listen({ host: '127.0.0.1', port: 0 });
    const get = (hosts: string) =>
      raw(url, `GET /.well-known/jwks.json HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`);
    expect(await get('Host: localhost\r\n')).toMatch(/^HTTP\/1.1 200/);
    for (const second of ['localhost', 'evil.example', ''])
      expect(await get(`Host: localhost\r\nHost: ${second}\r\n`)).toMatch(
        /^HTTP\/1.1 400[^]*"error":"invalid_request"/,
      );
  });
});

describe('paths and methods', () => {
  it.each(paths)('%s answers every method it does not take with 405 and Allow', async (path) => {
    const gateway = open();
    const taken = new Set<string>(routes.filter((route) => route.path === path).map(({ method }) => method));
    if (routes.some((route) => route.path === path && route.crossOrigin)) taken.add('OPTIONS');
    for (const method of methods) {
      if (taken.has(method)) continue;
      const answer = await gateway.app.inject({
        method,
        url: `${path}?token=x`,
        headers: { host: 'localhost' },
      });
      expect(answer.statusCode, method).toBe(405);
      expect(answer.headers['allow']).toBe([...taken].sort().join(', '));
    }
  });

  it.each(['/', '/nothing', '/token/', '//token', '/Token', '/authorize/', '/.well-known/'])(
    'answers %j with 404, as a page to a browser',
    async (url) => {
      const gateway = open();
      const json = await gateway.app.inject({ method: 'GET', url });
      expect([json.statusCode, json.json()]).toMatchObject([
        404,
        { isSuccess: false, error: 'invalid_request' },
      ]);
      const page = await gateway.app.inject({ method: 'GET', url, headers: html });
      expect([page.statusCode, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    },
  );

  it('answers a malformed URL with 400 in the shape of the contract', async () => {
    const answer = await open().app.inject({ method: 'GET', url: '/%zz' });
    expect([answer.statusCode, answer.json()]).toMatchObject([
      400,
      { isSuccess: false, error: 'invalid_request' },
    ]);
  });

  it('echoes nothing of a bad request unencoded (security case XSS-3)', async () => {
    const gateway = open();
    const payload = '<svg onload=alert(1)>';
    const requests = [
      { method: 'GET', url: `/${encodeURIComponent(payload)}` },
      { method: 'GET', url: `/login?interaction=x&${encodeURIComponent(payload)}=1` },
      { method: 'GET', url: `/authorize?a=1&a=${encodeURIComponent(payload)}` },
      {
        method: 'POST',
        url: '/token',
        headers: { 'content-type': 'application/json' },
        payload: `{"${payload}":1}`,
      },
      { method: 'POST', url: '/token', headers: { 'content-type': payload }, payload: 'x' },
    ] as const;
    for (const request of requests) {
      for (const headers of [{}, html]) {
        const own = 'headers' in request ? request.headers : {};
        const answer = await gateway.app.inject({ ...request, headers: { ...headers, ...own } });
        expect(answer.statusCode).toBeGreaterThanOrEqual(400);
        expect(answer.body).not.toContain('<svg onload');
        expect(answer.headers['x-content-type-options']).toBe('nosniff');
      }
    }
  });
});

describe('headers', () => {
  const interaction = {
    interactionId: 'ti_1',
    tenantId: 't',
    tenantName: 'T',
    applicationName: 'A',
    clientId: 'c',
  };
  const pages: Behaviours = {
    getInteraction: () => ({
      step: { name: 'password', interaction: { ...interaction, loginHint: '', scopes: [] } },
    }),
    begin: () => {
      throw new OAuthError('invalid_request', 'No.');
    },
  };

  it.each([
    '/login',
    '/login?interaction=ti_1',
    '/authorize?x=1',
    '/nothing',
    '/logout?a=1&a=2',
    '/device',
    '/device?user_code=WDJB-MJHT',
    '/approvals',
    '/approvals?tenant=t',
  ])(
    'of the page %s forbid framing, scripts but our files, caching and referrers (security cases HDR-1 and HDR-3)',
    async (url) => {
      const answer = await open(pages).app.inject({ method: 'GET', url, headers: html });
      expect(answer.headers).toMatchObject({
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      });
      const policy = String(answer.headers['content-security-policy']);
      for (const directive of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"]) {
        expect(policy).toContain(directive);
      }
      expect(policy).not.toContain('unsafe');
      expect(answer.body).not.toMatch(/<script(?! src="\/assets\/[^"]+" defer><\/script>)|style=|\son\w+=/i);
      const scripts = answer.body.includes('<script') ? ["script-src 'self'"] : [];
      expect(policy.match(/script-src [^;]*/g) ?? []).toEqual(scripts);
    },
  );

  it('restrict forms to our origin on every page that does not lead to a client', async () => {
    const gateway = open(pages);
    const policy = async (url: string) =>
      String(
        (await gateway.app.inject({ method: 'GET', url, headers: html })).headers['content-security-policy'],
      );
    expect(await policy('/login')).toContain("form-action 'self'");
    expect(await policy('/nothing')).toContain("form-action 'self'");
    // Chromium applies the directive to the redirect that follows a sign-in.
    expect(await policy('/login?interaction=ti_1')).not.toContain('form-action');
  });

  it('carry the request id, and HSTS only if the issuer is https', async () => {
    const plain = await open().app.inject({ method: 'GET', url: '/login' });
    expect(plain.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(plain.headers['strict-transport-security']).toBeUndefined();
    const secure = await open({}, { TESSERA_ISSUER: 'https://id.example.com' }).app.inject('/login');
    expect(secure.headers['strict-transport-security']).toBe('max-age=31536000');
  });

  it('accept a request id only from a trusted proxy and only if it is well-formed', async () => {
    const id = async (environment: Record<string, string>, given: string) =>
      (await open({}, environment).app.inject({ url: '/login', headers: { 'x-request-id': given } })).headers[
        'x-request-id'
      ];
    expect(await id({}, 'given-1')).not.toBe('given-1');
    const behind = { TESSERA_TRUSTED_PROXIES: 'loopback' };
    expect(await id(behind, 'given-1')).toBe('given-1');
    expect(await id(behind, 'x\n{"level":50}')).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('cross-origin requests (security case CORS-1)', () => {
  const readable = [
    '/token',
    '/revoke',
    '/userinfo',
    '/.well-known/openid-configuration',
    '/.well-known/jwks.json',
  ];

  it.each(readable)('%s may be read from every origin, never with cookies, errors too', async (url) => {
    const gateway = open();
    for (const origin of ['https://evil.example', 'null']) {
      const method = url === '/token' || url === '/revoke' ? 'POST' : 'GET';
      const answer = await gateway.app.inject({ method, url, headers: { origin } });
      expect(answer.headers['access-control-allow-origin']).toBe('*');
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
      const preflight = await gateway.app.inject({ method: 'OPTIONS', url, headers: { origin } });
      expect(preflight.statusCode).toBe(204);
      expect(preflight.headers['access-control-allow-methods']).toContain(method);
      expect(preflight.headers['access-control-allow-headers']).toBe('authorization, content-type');
    }
  });

  it('keep DELETE /revoke, which trusted addresses call without credentials, from scripts of other origins', async () => {
    const gateway = open();
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'DELETE' };
    const preflight = await gateway.app.inject({ method: 'OPTIONS', url: '/revoke', headers });
    expect(preflight.headers['access-control-allow-methods']).toBe('OPTIONS, POST');
    const payload = { token: 'x' };
    const answer = await gateway.app.inject({ method: 'DELETE', url: '/revoke', headers, payload });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it.each(paths.filter((path) => !routes.some((route) => route.path === path && route.crossOrigin)))(
    '%s sends no CORS header at all',
    async (url) => {
      const gateway = open();
      for (const method of ['GET', 'POST', 'OPTIONS'] as const) {
        const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
        const answer = await gateway.app.inject({ method, url, headers });
        expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
      }
    },
  );
});

describe('files, readiness and extensions', () => {
  it('serves the stylesheet under a content-hashed path, cacheable for as long as possible', async () => {
    const gateway = open();
    const page = await gateway.app.inject({ method: 'GET', url: '/login', headers: html });
    const href = /rel="stylesheet" href="([^"]+)"/.exec(page.body)?.[1] ?? '';
    const style = await gateway.app.inject(href);
    expect([style.statusCode, style.headers['content-type']]).toEqual([200, 'text/css; charset=utf-8']);
    expect(style.headers['cache-control']).toContain('immutable');
  });

  it('answers /readyz if configured', async () => {
    expect((await open().app.inject('/readyz')).statusCode).toBe(404);
    const ready = open({}, {}, { readiness: () => Promise.resolve() });
    expect((await ready.app.inject({ url: '/readyz', headers: { host: '10.1.2.3' } })).statusCode).toBe(200);
    const unready = open({}, {}, { readiness: () => Promise.reject(new Error('secret reason')) });
    const answer = await unready.app.inject('/readyz');
    expect(answer.statusCode).toBe(503);
    expect(answer.body).not.toContain('secret reason');
  });

  it('lets extensions add routes with cookies and queries', async () => {
    const gateway = open(
      {},
      {},
      {
        extensions: [
          (app) => {
            app.get<{ Querystring: Record<string, string> }>('/demo/', async (request, reply) =>
              reply.setCookie('seen', '1').send({ cookie: request.cookies['demo'], a: request.query['a'] }),
            );
          },
        ],
      },
    );
    const answer = await gateway.app.inject({ url: '/demo/?a=1', headers: { cookie: 'demo=x' } });
    expect(answer.json()).toEqual({ cookie: 'x', a: '1' });
    expect(answer.cookies).toMatchObject([{ name: 'seen', value: '1' }]);
  });

  it.each(['body', 'response'])(
    'do not start with a schema of a %s, which nothing would check',
    async (part) => {
      const app = fastify({ schemaController: withoutSchemas });
      app.post('/demo/', { schema: { [part]: { 200: {} } } }, async () => '');
      await expect(app.ready()).rejects.toThrow('have no schemas');
    },
  );
});

/** Sends bytes as they are and returns what comes back until the server closes. */
function raw(url: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')));
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.once('error', (error) => (text === '' ? reject(error) : resolve(text)));
    socket.once('close', () => resolve(text));
  });
}

interface Received {
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
  readonly connection: string | undefined;
}

function postJson(url: string, agent: Agent, payload: string): Promise<Received> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const outgoing = httpRequest(url, { method: 'POST', agent, headers }, (answer) => {
      const { 'retry-after': retryAfter, connection } = answer.headers;
      answer.resume().once('end', () => resolve({ status: answer.statusCode, retryAfter, connection }));
    });
    outgoing.once('error', reject).end(payload);
  });
}

describe('on a real connection', () => {
  const body = '{"grantType":"client_credentials","clientId":"svc"}';
  const post = (headers: string, payload = body) =>
    `POST /token HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}` +
    `Content-Length: ${payload.length}\r\n\r\n${payload}`;
  const listen = (gateway: TestGateway) => gateway.listen({ host: '127.0.0.1', port: 0 });
  const exchange = () => ({ accessToken: 'at', expiresIn: 60 });

  it('validates or refuses a media type with surrounding white space (security cases CT-1 to CT-3)', async () => {
    const gateway = open({ exchange });
    const url = await listen(gateway);
    for (const type of [
      'application/json\t',
      ' application/json',
      'application/json ;charset=utf-8',
      'APPLICATION/JSON',
    ]) {
      expect(await raw(url, post(`Content-Type: ${type}\r\n`))).toMatch(/^HTTP\/1.1 (200|415)/);
      expect(await raw(url, post(`Content-Type: ${type}\r\n`, '{"grantType":["x"]}'))).toMatch(
        /^HTTP\/1.1 4(00|15)/,
      );
    }
  });

  it('refuses two Content-Type headers and two Authorization headers (security case CT-4)', async () => {
    const gateway = open({ exchange });
    const url = await listen(gateway);
    const json = 'Content-Type: application/json\r\n';
    const form = 'Content-Type: application/x-www-form-urlencoded\r\n';
    expect(await raw(url, post(json + form))).toMatch(/^HTTP\/1.1 415/);
    expect(await raw(url, post(form + json))).toMatch(/^HTTP\/1.1 415/);
    const two = `${json}Authorization: Basic YTpi\r\nAuthorization: Basic Yzpk\r\n`;
    expect(await raw(url, post(two))).toMatch(/^HTTP\/1.1 400/);
    expect(gateway.requests('exchange')).toEqual([]);
  });

  it('answers malformed HTTP and oversized headers in the shape of the contract', async () => {
    const url = await listen(open());
    expect(await raw(url, 'nonsense <script>\r\n\r\n')).toMatch(/^HTTP\/1.1 400[^]*"isSuccess":false/);
    const large = `GET /login HTTP/1.1\r\nHost: localhost\r\nX-Large: ${'x'.repeat(64 * 1024)}\r\n\r\n`;
    expect(await raw(url, large)).toMatch(/^HTTP\/1.1 431/);
    expect(await raw(url, `GET /?${'a&'.repeat(40_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 431/,
    );
  });

  it('says on a page what to do to a browser whose cookies are too many (RFC 6585 section 5)', async () => {
    const url = await listen(open());
    const cookies = (count: number) =>
      Array.from({ length: count }, (_, index) => `_ga_${index}=${'x'.repeat(1000)}`).join('; ');
    const navigation =
      'Accept: text/html,*/*;q=0.8\r\nSec-Fetch-Mode: navigate\r\nAccept-Language: de-DE,de\r\n';
    const get = (more: string) => `GET /login HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
    expect(await raw(url, get(`${navigation}Cookie: ${cookies(17)}\r\nConnection: close\r\n`))).toMatch(
      /^HTTP\/1.1 200/,
    );
    for (const headers of [navigation, '']) {
      const answer = await raw(url, get(`${headers}Cookie: ${cookies(90)}\r\n`));
      expect(answer).toMatch(/^HTTP\/1.1 431/);
      expect(answer).toMatch(/\r\ncontent-type: text\/html/i);
      expect(answer).toMatch(/\r\ncontent-security-policy: default-src 'none'/i);
      expect(answer).toMatch(/cookies|Cookies/);
      expect(answer).not.toContain('_ga_');
    }
    const token = await raw(url, get(`Authorization: Bearer ${'x'.repeat(70_000)}\r\n`));
    expect(token).toContain('"error":"invalid_request"');
  });

  it('sends its headers with errors that Node reports before a request is read, and with 417 (RFC 9110 section 10.1.1)', async () => {
    const url = await listen(
      open({}, {}, { patience: { headers: 300, request: 300, silence: 30_000, interval: 50 } }),
    );
    const get = (more: string, path = '/login') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
    for (const [bytes, status] of [
      ['nonsense\r\n\r\n', 400],
      [get('', '/%zz'), 400],
      ['GET /login HTTP/1.1\r\nHost: localhost\r\n', 408],
      [get(`X-Large: ${'x'.repeat(64 * 1024)}\r\n`), 431],
      [get('Expect: teapot\r\nConnection: close\r\n'), 417],
      ['GET /login HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ] as const) {
      let answer = (await raw(url, bytes)).toLowerCase();
      // A request that is late in a process that is busy otherwise gets 503, as it may have been the process that was
      // late.
      for (let again = 0; answer.startsWith('http/1.1 503') && again < 20; again += 1)
        answer = (await raw(url, bytes)).toLowerCase();
      expect(answer.slice(0, 12), bytes.slice(0, 60)).toBe(`http/1.1 ${status}`);
      for (const header of ['cache-control: no-store', 'x-content-type-options: nosniff', 'content-type: '])
        expect(answer, String(status)).toContain(`\r\n${header}`);
      expect(answer).toContain('"error":"invalid_request"');
    }
    const refused = await raw(url, get('Expect: teapot\r\nConnection: close\r\n'));
    expect(refused).toMatch(/\r\nx-request-id: [\w-]{36}\r\n/i);
    const explicit = await listen(open({}, { TESSERA_ISSUER: 'http://localhost' }));
    expect(await raw(explicit, 'GET /login HTTP/1.1\r\nConnection: close\r\n\r\n')).toContain(
      'The Host header is missing.',
    );
    expect(await raw(url, get('Expect: 100-continue\r\nConnection: close\r\n'))).toContain(' 200 ');
  });

  it('refuses a large body at once and serves the next request (security case DOS-6)', async () => {
    const gateway = open({ exchange });
    const url = await listen(gateway);
    const announced = `POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n\r\n{`;
    expect(await raw(url, announced)).toMatch(/^HTTP\/1.1 413[^]*"error":"invalid_request"/);
    const chunked =
      'POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n' +
      `20000\r\n${' '.repeat(0x20000)}\r\n0\r\n\r\n`;
    expect(await raw(url, chunked)).toMatch(/^HTTP\/1.1 413/);
    expect(await raw(url, post('Content-Type: application/json\r\n'))).toMatch(/^HTTP\/1.1 200/);
  });

  it('finishes pending requests on shutdown and then closes each connection', async () => {
    const arrived = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const gateway = open({
      exchange: async () => {
        arrived.resolve();
        await finish.promise;
        return exchange();
      },
    });
    const url = await listen(gateway);
    const under = postJson(`${url}/token`, new Agent({ keepAlive: true }), body);
    await arrived.promise;
    const before = Date.now();
    const closed = gateway.close();
    setTimeout(finish.resolve, 50);
    expect(await under).toMatchObject({ status: 200, connection: 'close' });
    await closed;
    expect(Date.now() - before).toBeLessThan(5_000);
    await expect(raw(url, post(''))).rejects.toThrow();
  });

  it('sends Connection: close while the process drains (RFC 9112 section 9.6)', async () => {
    const draining = new AbortController();
    const url = await listen(open({ exchange }, {}, { draining: draining.signal }));
    const agent = new Agent({ keepAlive: true });
    expect(await postJson(`${url}/token`, agent, body)).toMatchObject({
      status: 200,
      connection: 'keep-alive',
    });
    draining.abort();
    expect(await postJson(`${url}/token`, agent, body)).toMatchObject({ status: 200, connection: 'close' });
    agent.destroy();
  });

  it('answers 503 to requests that arrive during shutdown', async () => {
    const finish = Promise.withResolvers<void>();
    const slowly = (app: TestGateway['app']): void =>
      void app.addHook('preClose', async () => finish.promise);
    const gateway = open({ exchange }, {}, { extensions: [slowly] });
    const url = await listen(gateway);
    const closed = gateway.close();
    const answer = await postJson(`${url}/token`, new Agent(), body);
    expect(answer).toEqual({ status: 503, retryAfter: '1', connection: 'close' });
    finish.resolve();
    await closed;
  });

  it('sends a Location with every character encoded', async () => {
    const location = 'https://app/cb?code=1&state=%0d%0aSet-Cookie%3A%20x';
    const gateway = open({ begin: () => ({ next: { next: { case: 'redirect', value: { location } } } }) });
    const url = await listen(gateway);
    const headers = await new Promise<NodeJS.Dict<string | string[]>>((resolve, reject) => {
      httpRequest(`${url}/authorize?a=1`, (answer) => resolve(answer.resume().headers))
        .once('error', reject)
        .end();
    });
    expect([headers['location'], headers['set-cookie']]).toEqual([location, undefined]);
  });
});

describe('slow clients', () => {
  const hasty = { headers: 20_000, request: 20_000, silence: 20_000, interval: 50 };
  const many = 20;

  /**
   * Sends a piece again and again, and answers what comes back until the server closes, and after how many
   * milliseconds.
   */
  function drip(url: string, start: string, piece: string): Promise<{ text: string; ms: number }> {
    return new Promise((resolve) => {
      const startedAt = performance.now();
      let timer: NodeJS.Timeout | undefined;
      const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
        socket.write(start);
        timer = setInterval(() => socket.write(piece), 50);
      });
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString()));
      socket.on('error', () => undefined);
      socket.once('close', () => {
        clearInterval(timer);
        resolve({ text, ms: performance.now() - startedAt });
      });
    });
  }

  const body = '{"grantType":"client_credentials","clientId":"svc"}';
  const post = 'POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';

  it.each([
    ['headers', post, 'X-More: x\r\n', { ...hasty, headers: 400 }],
    ['a body', `${post}Content-Length: 60000\r\n\r\n{`, ' ', { ...hasty, headers: 400, request: 400 }],
    [
      'a body in chunks',
      `${post}Transfer-Encoding: chunked\r\n\r\n`,
      '1\r\n \r\n',
      { ...hasty, headers: 400, request: 400 },
    ],
  ])(
    'that send %s piece by piece are closed at the end of their time, and others are served meanwhile (DOS-7)',
    async (_what, start, piece, patience) => {
      const gateway = open({ exchange: () => ({ accessToken: 'at', expiresIn: 60 }) }, {}, { patience });
      const url = await gateway.listen({ host: '127.0.0.1', port: 0 });
      const slow = Promise.all(Array.from({ length: many }, () => drip(url, start, piece)));
      expect(await postJson(`${url}/token`, new Agent(), body)).toMatchObject({ status: 200 });
      for (const { text, ms } of await slow) {
        // 503 where this machine was busy otherwise.
        expect(text).toMatch(/^HTTP\/1.1 (408|503)/);
        expect(ms).toBeGreaterThanOrEqual(350);
      }
      expect(gateway.requests('exchange')).toHaveLength(1);
    },
    10_000,
  );

  it('are distinguished from a slow server: a request that arrived in time gets 503 and is not served (RFC 9110 §15.5.9)', async () => {
    const patience = { ...hasty, headers: 400, request: 400 };
    const gateway = open({ exchange: () => ({ accessToken: 'at', expiresIn: 60 }) }, {}, { patience });
    const url = await gateway.listen({ host: '127.0.0.1', port: 0 });
    const arrived = once(gateway.app.server, 'connection');
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(post));
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString()));
    const closed = once(socket, 'close');
    const [accepted] = (await arrived) as [Socket];
    await expect.poll(() => accepted.bytesRead).toBeGreaterThan(0);
    // After an immediate, timers come before what arrived meanwhile.
    await new Promise<void>((resolve) =>
      setImmediate(() => {
        socket.write(`Content-Length: ${body.length}\r\n\r\n${body}`);
        const until = performance.now() + 3000;
        while (performance.now() < until);
        resolve();
      }),
    );
    await closed;
    expect(text).toMatch(/^HTTP\/1.1 503 [^]*\r\nRetry-After: 1\r\n[^]*temporarily_unavailable/);
    expect(gateway.requests('exchange')).toEqual([]);
  });

  it('are disconnected if they never read the response (DOS-5)', async () => {
    const large = Buffer.alloc(32 * 1024 * 1024);
    const extensions = [
      (app: TestGateway['app']): void => void app.get('/large', (_request, reply) => reply.send(large)),
    ];
    const gateway = open({}, {}, { patience: { ...hasty, silence: 500 }, extensions });
    const url = await gateway.listen({ host: '127.0.0.1', port: 0 });
    const accepted: Socket[] = [];
    gateway.app.server.on('connection', (socket) => accepted.push(socket));
    const clients = Array.from({ length: many }, () => {
      const client = connect(Number(new URL(url).port), '127.0.0.1');
      client.pause().on('error', () => undefined);
      client.write('GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n');
      return client;
    });
    const left = () => accepted.filter(({ destroyed }) => !destroyed).length;
    await expect.poll(() => [accepted.length, left()]).toEqual([many, 0]);
    expect(accepted.every(({ bytesWritten }) => bytesWritten > 0)).toBe(true);
    for (const client of clients) client.destroy();
  });

  it('are disconnected if they read so slowly that the response stays in our memory', async () => {
    const size = 32 * 1024 * 1024;
    const large = Buffer.alloc(size);
    const extensions = [
      (app: TestGateway['app']): void => void app.get('/large', (_request, reply) => reply.send(large)),
    ];
    const gateway = open({}, {}, { patience: { ...hasty, silence: 1_000 }, extensions });
    const url = await gateway.listen({ host: '127.0.0.1', port: 0 });
    const client = connect(Number(new URL(url).port), '127.0.0.1');
    let read = 0;
    let timer: NodeJS.Timeout | undefined;
    // About 60 KiB each time, so that the connection is never silent.
    client
      .on('error', () => undefined)
      .on('data', (chunk) => {
        read += chunk.length;
        client.pause();
        timer = setTimeout(() => client.resume(), 50);
      });
    client.write('GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [accepted] = (await once(gateway.app.server, 'connection')) as [Socket];
    await once(accepted, 'close');
    expect(accepted.bytesWritten).toBeGreaterThan(0);
    expect(read).toBeLessThan(size);
    clearTimeout(timer);
    client.destroy();
  });

  it('have ten seconds for headers, fifteen for a request, and thirty to continue reading', () => {
    expect(open().app.server).toMatchObject({
      headersTimeout: 10_000,
      requestTimeout: 15_000,
      timeout: 30_000,
    });
  });
});

describe('the log', () => {
  it('has one line per request, without query, secrets or values invented by clients', async () => {
    const lines: string[] = [];
    const log = createLogger(
      { service: 'gateway', level: 'trace' },
      { write: (line: string) => void lines.push(line) },
    );
    const gateway = open(
      {
        exchange: () => {
          throw new Error('broken');
        },
      },
      {},
      {},
      testRuntime({ log }),
    );
    await gateway.app.inject({
      method: 'POST',
      url: '/token?secret=canary-query',
      headers: {
        authorization: `Basic ${Buffer.from('svc:canary-basic').toString('base64')}`,
        cookie: 'canary=c',
      },
      payload: { grantType: 'authorization_code', code: 'canary-code', codeVerifier: 'canary-verifier' },
    });
    await gateway.app.inject('/canary-path/canary-token');
    const requests = lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ route }) => route);
    expect(requests).toMatchObject([
      { method: 'POST', route: '/token', status: 500, errorCode: 'server_error', ipAddress: '127.0.0.1' },
      { method: 'GET', route: '(none)', status: 404, errorCode: 'not_found' },
    ]);
    expect(lines.join('')).not.toContain('canary');
    const failure = lines.find((line) => line.includes('broken')) ?? '{}';
    expect(JSON.parse(failure)).toMatchObject({ requestId: requests[0]?.['requestId'] });
  });
});
