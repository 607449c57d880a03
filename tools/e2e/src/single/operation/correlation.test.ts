import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { people } from '../../harness/declared-state.ts';
import { Collector } from '../../harness/collector.ts';
import { eventually } from '@tessera/test-kit/provision';
import { type Answer, type Ask, HttpClient, Person, tokensOf } from '@tessera/test-client';
import { codeFor, redeem } from '../../harness/flows.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

/** Asks as a reverse proxy does, which names every request and puts all of them into one trace. */
class Proxy extends HttpClient {
  readonly names: string[] = [];

  override async ask(method: string, path: string, options: Ask = {}): Promise<Answer> {
    const [, page = ''] = /^\/([a-z]+)/.exec(path) ?? [];
    const name = `flow-${this.names.length + 1}-${method.toLowerCase()}-${page}`;
    this.names.push(name);
    const headers = {
      ...options.headers,
      'x-request-id': name,
      'x-forwarded-for': '203.0.113.7',
      traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
    };
    return super.ask(method, path, { ...options, headers });
  }
}

/** What an operator has at hand to follow a request: lines, rows, numbers, spans. */
describe('one code flow through six processes', () => {
  const collector = new Collector();
  let system: System;
  let database: pg.Client;

  beforeAll(async () => {
    await collector.start();
    const databaseUrl = await installedDatabaseUrl();
    database = new pg.Client(databaseUrl);
    await database.connect();
    system = await startSystem(setUps.split, {
      stores: { databaseUrl, redisUrl: redisUrl() },
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_EXPORTER_OTLP_TIMEOUT: '3000',
        OTEL_BSP_SCHEDULE_DELAY: '500',
        TESSERA_TRUSTED_PROXIES: '127.0.0.1',
        TESSERA_LOG_LEVEL: 'info',
      },
    });
  });
  afterAll(async () => {
    await system?.stop();
    await database?.end();
    await collector.stop();
  });

  const lines = (): Record<string, unknown>[] =>
    system
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  async function rows(): Promise<{ schema: string; event: string; request: string }[]> {
    const select = ['authorize', 'token'].map(
      (schema) =>
        `SELECT '${schema}' AS schema, event, record->>'requestId' AS request FROM ${schema}.audit_event`,
    );
    const { rows: found } = await database.query<{ schema: string; event: string; request: string }>(
      `SELECT * FROM (${select.join(' UNION ALL ')}) AS every WHERE request LIKE 'flow-%' ORDER BY request, event`,
    );
    return found;
  }

  /** The sum of a counter over its series with these labels, at one process. */
  async function metric(process: string, name: string, labels: string): Promise<number> {
    const port = system.environmentOf(process)['TESSERA_MANAGEMENT_PORT'];
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const series = text.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(labels));
    return series.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  const measured = [
    ['gateway', 'tessera_http_requests_total', 'endpoint="/token",method="POST",status="200"'],
    ['authorize', 'tessera_calls_total', 'AuthorizeService/Continue",outcome="ok"'],
    ['directory', 'tessera_calls_total', 'DirectoryService/VerifyPassword",outcome="ok"'],
    ['token', 'tessera_calls_total', 'TokenService/Exchange",outcome="ok"'],
    ['keys', 'tessera_calls_total', 'KeysService/Sign",outcome="ok"'],
  ] as const;

  it('is followed by request id and trace id in lines of the log, audit rows, metrics and spans', async () => {
    const numbers = async () =>
      Promise.all(measured.map(async ([process, name, labels]) => metric(process, name, labels)));
    const before = await numbers();
    const proxy = new Proxy(() => system.baseUrl);
    const person = new Person(proxy, people.ada);
    const code = await codeFor(person);
    const redeemed = await redeem(proxy, code);
    tokensOf(redeemed);
    expect((await redeem(proxy, code)).status).toBe(400);
    const [authorize, showLogin, login, token, again] = proxy.names;
    expect(proxy.names).toEqual([
      'flow-1-get-authorize',
      'flow-2-get-login',
      'flow-3-post-login',
      'flow-4-post-token',
      'flow-5-post-token',
    ]);
    expect(redeemed.header('x-request-id')).toBe(token);

    await eventually('every audit row is there', async () => (await rows()).length >= 5);
    expect(await rows()).toEqual(
      expect.arrayContaining([
        { schema: 'authorize', event: 'auth.login.succeeded', request: login },
        { schema: 'authorize', event: 'session.created', request: login },
        { schema: 'token', event: 'code.redeemed', request: token },
        { schema: 'token', event: 'code.replayed', request: again },
      ]),
    );

    const spansOf = (process: string, requestId: string | undefined) =>
      collector.spans.filter(
        (span) =>
          span.service === `tessera-${process}` &&
          span.traceId === traceId &&
          span.attributes['tessera.request_id'] === requestId,
      ).length;
    const expected = [
      ...[authorize, showLogin, login, token, again].map((id) => ['gateway', id] as const),
      ...[authorize, showLogin, login, token, again].map((id) => ['authorize', id] as const),
      ...[authorize, login, token].map((id) => ['directory', id] as const),
      ...[token, again].map((id) => ['token', id] as const),
      ['keys', token] as const,
    ];
    await eventually('every span is there', async () =>
      expected.every(([process, id]) => spansOf(process, id) > 0),
    );

    const ours = lines().filter(({ requestId }) => proxy.names.includes(String(requestId)));
    const access = ours.filter(({ message }) => message === 'request');
    expect(access.map(({ requestId, status }) => [requestId, status])).toEqual([
      [authorize, 302],
      [showLogin, 200],
      [login, 302],
      [token, 200],
      [again, 400],
    ]);
    expect(ours.find(({ service, requestId }) => service === 'token' && requestId === again)).toMatchObject({
      message: 'call refused',
      errorCode: 'invalid_grant',
    });
    expect(new Set(ours.map(({ trace_id: id }) => id))).toEqual(new Set([traceId]));

    const after = await numbers();
    expect(after.map((value, at) => value - (before[at] ?? 0))).toEqual([1, 1, 1, 1, 1]);
  });
});
