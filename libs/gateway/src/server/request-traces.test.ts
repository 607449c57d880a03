import { recordTraces, testRuntime, type RecordedSpan } from '@tessera/test-kit';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { createLogger } from '@tessera/telemetry';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openGateway, type Behaviours } from '../testing/fake-services.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentId = '00f067aa0ba902b7';
const canary = 'CANARY0123456789abcdef';

function open(behaviours: Behaviours = {}, environment: Record<string, string> = {}) {
  const lines: string[] = [];
  const log = createLogger(
    { service: 'gateway', level: 'info' },
    { write: (line: string) => void lines.push(line) },
  );
  const gateway = openGateway(testRuntime({ log }), behaviours, environment);
  onTestFinished(() => gateway.close());
  return { gateway, lines };
}

const tokenRequest = {
  grantType: 'authorization_code',
  clientId: 'acme-web',
  clientSecret: canary,
  code: canary,
  codeVerifier: canary,
  redirectUri: `https://acme.example/${canary}`,
};

const headers = { host: 'localhost' };
const exchange = () => ({ accessToken: canary, expiresIn: 600, scope: '', refreshToken: '', idToken: '' });
const about = (span: RecordedSpan | undefined) => Object.fromEntries(span?.attributes ?? []);
const rootOf = (spans: readonly RecordedSpan[]) => spans.find(({ kind }) => kind === 'server');

describe('the trace of a request', () => {
  it('contains route, grant type, status and request id, and no content of the request', async () => {
    const spans = await recordTraces();
    const { gateway, lines } = open({ exchange });
    const answer = await gateway.app.inject({
      method: 'POST',
      url: `/token?state=${canary}`,
      headers,
      payload: tokenRequest,
    });
    expect(answer.statusCode).toBe(200);
    expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
      ['tessera.token.v1.TokenService/Exchange', 'internal'],
      ['POST /token', 'server'],
    ]);
    const [call, root] = spans;
    expect(call?.parentSpanId).toBe(root?.context.spanId);
    expect(about(root)).toEqual({
      'http.request.method': 'POST',
      'http.route': '/token',
      'http.response.status_code': 200,
      'tessera.grant_type': 'authorization_code',
      'tessera.request_id': answer.headers['x-request-id'],
    });
    expect(JSON.stringify(spans.map((span) => [span.name, about(span)]))).not.toContain(canary.slice(0, 12));
    const access = lines.find((line) => line.includes('"message":"request"'));
    expect(access).toContain(`"trace_id":"${root?.context.traceId}"`);
  });

  it.each([
    ['a refusal', new OAuthError('invalid_grant', 'No.'), 'invalid_grant', false],
    ['a fault', temporarilyUnavailable(), 'temporarily_unavailable', true],
  ])('reports %s by its code', async (_what, error, code, isFault) => {
    const spans = await recordTraces();
    const { gateway } = open({ exchange: () => Promise.reject(error) });
    await gateway.app.inject({ method: 'POST', url: '/token', headers, payload: tokenRequest });
    expect(about(rootOf(spans))).toMatchObject({ 'error.type': code });
    expect(rootOf(spans)?.isFault).toBe(isFault);
  });

  it.each([
    ['an address that does not exist', `/${canary}`, headers, '(none)', 404],
    ['a host that is not allowed', '/userinfo', { host: 'evil.example' }, '/userinfo', 400],
  ])('also covers %s, without the path', async (_what, url, given, route, status) => {
    const spans = await recordTraces();
    await open().gateway.app.inject({ method: 'GET', url, headers: given });
    expect(spans.map(({ name }) => name)).toEqual([`GET ${route}`]);
    expect(about(spans[0])).toMatchObject({ 'http.route': route, 'http.response.status_code': status });
  });

  it('continues the trace of a trusted proxy with its sampling decision', async () => {
    const spans = await recordTraces();
    const { gateway } = open({}, { TESSERA_TRUSTED_PROXIES: '127.0.0.1' });
    for (const flags of ['01', '00']) {
      await gateway.app.inject({
        method: 'GET',
        url: '/userinfo',
        headers: {
          ...headers,
          traceparent: `00-${traceId}-${parentId}-${flags}`,
          'x-request-id': `from-proxy-${flags}`,
        },
      });
    }
    expect(spans).toHaveLength(1);
    expect(spans[0]).toMatchObject({ parentSpanId: parentId, context: { traceId } });
    expect(about(spans[0])).toMatchObject({ 'tessera.request_id': 'from-proxy-01' });
  });

  it('is new for every other caller, who can neither join a trace nor force one', async () => {
    const spans = await recordTraces();
    const { gateway } = open({}, { TESSERA_TRUSTED_PROXIES: '10.0.0.0/8' });
    const given = { ...headers, traceparent: `00-${traceId}-${parentId}-00` };
    await gateway.app.inject({ method: 'GET', url: '/userinfo', headers: given });
    expect(spans[0]?.parentSpanId).toBeUndefined();
    expect(spans[0]?.context.traceId).not.toBe(traceId);
    const unsampled = await recordTraces(0);
    const other = open().gateway;
    await other.app.inject({
      method: 'GET',
      url: '/userinfo',
      headers: { ...headers, traceparent: `00-${traceId}-${parentId}-01` },
    });
    expect(unsampled).toEqual([]);
  });

  it('is not recorded for probes and files', async () => {
    const spans = await recordTraces();
    const gateway = openGateway(testRuntime(), {}, {}, { readiness: async () => undefined });
    onTestFinished(() => gateway.close());
    await gateway.app.inject({ method: 'GET', url: '/readyz', headers });
    expect(spans).toEqual([]);
  });
});
