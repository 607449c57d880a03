import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { Collector, type ReceivedSpan } from '../../harness/collector.ts';
import { people, secrets } from '../../harness/declared-state.ts';
import { eventually } from '@tessera/test-kit/provision';
import { type Answer, tokensOf } from '@tessera/test-client';
import { clientCredentials, codeFor, redeem } from '../../harness/flows.ts';
import { firstOf, setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

const calls = {
  exchange: 'tessera.token.v1.TokenService/Exchange',
  redeem: 'tessera.authorize.v1.AuthorizeService/RedeemCode',
  user: 'tessera.directory.v1.DirectoryService/GetUser',
  sign: 'tessera.keys.v1.KeysService/Sign',
  signIn: 'tessera.authorize.v1.AuthorizeService/Continue',
  password: 'tessera.directory.v1.DirectoryService/VerifyPassword',
};

/** How long a process gathers spans. */
const batchDelayMs = 200;

/** Every attribute that may be there. */
const attributes = [
  'db.query.summary',
  'db.system.name',
  'error.type',
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'rpc.method',
  'rpc.service',
  'rpc.system.name',
  'tessera.grant_type',
  'tessera.request_id',
  'tessera.signatures',
];

/** The way from a span up to its root, by names; a call over the wire once. */
function pathOf(span: ReceivedSpan, trace: readonly ReceivedSpan[]): string[] {
  const parent = trace.find(({ spanId }) => spanId === span.parentSpanId);
  if (parent === undefined) return [span.name];
  const above = pathOf(parent, trace);
  return above.at(-1) === span.name ? above : [...above, span.name];
}

describe.each(firstOf(setUps.split, setUps.compact))('traces of $name', (setUp) => {
  const collector = new Collector();
  let system: System;

  beforeAll(async () => {
    await collector.start();
    system = await startSystem(setUp, {
      stores: { databaseUrl: await installedDatabaseUrl(), redisUrl: redisUrl() },
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_EXPORTER_OTLP_TIMEOUT: '3000',
        OTEL_BSP_SCHEDULE_DELAY: String(batchDelayMs),
        TESSERA_LOG_LEVEL: 'info',
      },
    });
  });
  afterAll(async () => {
    await system?.stop();
    await collector.stop();
  });

  /** The trace of a request, once all of it is there. */
  async function traceOf(answer: Answer): Promise<readonly ReceivedSpan[]> {
    const requestId = answer.header('x-request-id');
    const spansOf = (): ReceivedSpan[] => {
      const root = collector.spans.find(
        (span) => span.parentSpanId === undefined && span.attributes['tessera.request_id'] === requestId,
      );
      return collector.spans.filter(({ traceId }) => traceId === root?.traceId);
    };
    await eventually('every span has its parent', async () => {
      const spans = spansOf();
      const ids = new Set(spans.map(({ spanId }) => spanId));
      return spans.length > 0 && spans.every(({ parentSpanId: id }) => id === undefined || ids.has(id));
    });
    // What other processes gathered comes with their next batch.
    await eventually('every process has sent its spans', async () => {
      const before = spansOf().length;
      await new Promise((resolve) => setTimeout(resolve, 3 * batchDelayMs));
      return spansOf().length === before;
    });
    return spansOf();
  }

  it('are one tree for each request of a code flow, with spans of every service that took part', async () => {
    const person = system.person();
    const answer = await redeem(system.http, await codeFor(person));
    tokensOf(answer);
    const trace = await traceOf(answer);
    expect(trace.filter(({ parentSpanId }) => parentSpanId === undefined)).toHaveLength(1);
    const paths = new Set(trace.map((span) => pathOf(span, trace).join(' > ')));
    const exchange = `POST /token > ${calls.exchange}`;
    expect([...paths]).toEqual(
      expect.arrayContaining([
        'POST /token',
        exchange,
        `${exchange} > ${calls.redeem} > authorize.redeem_code`,
        `${exchange} > ${calls.user} > directory.find_user`,
        `${exchange} > sign > ${calls.sign}`,
        `${exchange} > token.redeem`,
      ]),
    );
    const processes = new Set(trace.map(({ service }) => service.replace('tessera-', '')));
    expect([...processes].toSorted()).toEqual(
      setUp.topology === 'compact' ? ['standalone'] : ['authorize', 'directory', 'gateway', 'keys', 'token'],
    );
    const ids = trace.flatMap((span) => span.attributes['tessera.request_id'] ?? []);
    expect(ids.length).toBeGreaterThanOrEqual(4);
    expect(new Set(ids)).toEqual(new Set([answer.header('x-request-id')]));
    expect(trace.find(({ name }) => name === 'POST /token')?.attributes).toMatchObject({
      'tessera.grant_type': 'authorization_code',
      'http.response.status_code': '200',
    });
  });

  it('have a tree for the sign-in before it, down to where the password is compared', async () => {
    const person = system.person();
    await codeFor(person);
    await eventually('the sign-in is there', async () =>
      collector.spans.some(({ name }) => name === calls.password),
    );
    const [password] = collector.spans.filter(({ name }) => name === calls.password);
    const trace = collector.spans.filter(({ traceId }) => traceId === password?.traceId);
    await eventually('up to its root', async () => trace.length > 0 && (await rootArrived(password)));
    const whole = collector.spans.filter(({ traceId }) => traceId === password?.traceId);
    expect(password && pathOf(password, whole)).toEqual(['POST /login', calls.signIn, calls.password]);
  });

  async function rootArrived(span: ReceivedSpan | undefined): Promise<boolean> {
    return collector.spans.some((one) => one.traceId === span?.traceId && one.name === 'POST /login');
  }

  it('tell a refusal by its code on the way up', async () => {
    const answer = await clientCredentials(system.http, 'acme-service', 'contract', {
      clientSecret: 'w'.repeat(43),
    });
    expect(answer.status).toBe(401);
    const trace = await traceOf(answer);
    const failed = trace.filter(({ attributes: its }) => its['error.type'] === 'invalid_client');
    expect(failed.map(({ name }) => name)).toContain('POST /token');
    expect(failed.map(({ name }) => name)).toContain(calls.exchange);
    expect(failed.filter(({ isFault }) => isFault)).toEqual([]);
  });

  it('hold nothing but what is on the list: no code, token, secret, name or address', async () => {
    await system.http.ask('GET', '/nothing-here?code=a-pasted-code-of-somebody');
    await system.http.ask('POST', '/introspect', { json: { token: 'pasted-token-of-somebody' } });
    await traceOf(await clientCredentials(system.http));
    expect(collector.spans.length).toBeGreaterThan(30);
    const names = new Set(collector.spans.flatMap((span) => Object.keys(span.attributes)));
    expect([...names].filter((name) => !attributes.includes(name))).toEqual([]);
    expect(collector.spans.filter(({ name }) => name === '(unnamed)')).toEqual([]);
    const used = [
      ...system.http.seen,
      ...Object.values(secrets),
      ...Object.values(people).flatMap(({ username, password }) => [`"${username}"`, password]),
      '127.0.0.1',
      'pasted',
    ];
    expect(used.length).toBeGreaterThan(20);
    expect(used.filter((value) => collector.text.includes(value)).length).toBe(0);
  });

  it.each(['hangs', 'is unavailable'])('do not make requests fail while the collector %s', async (how) => {
    const warnings = () => system.output().split('cannot export traces').length;
    const [requestsBefore, warningsBefore] = [collector.requests, warnings()];
    if (how === 'hangs') collector.mode = 'silent';
    else await collector.stop();
    await clientCredentials(system.http);
    await eventually('the outage of the collector is noticed', async () =>
      how === 'hangs' ? collector.requests > requestsBefore : warnings() > warningsBefore,
    );
    const answers: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      const several = await Promise.all(Array.from({ length: 16 }, () => clientCredentials(system.http)));
      answers.push(...several.map(({ status }) => status));
    }
    expect(answers.filter((status) => status !== 200)).toEqual([]);
    const before = collector.spans.length;
    collector.mode = 'taking';
    if (how === 'is unavailable') await collector.start();
    await eventually('spans arrive again', async () => collector.spans.length > before);
  });

  it('are reported as lost once per outage of the collector, and never delay shutdown', async () => {
    const collectorLines = (): string[] =>
      system
        .output()
        .split('\n')
        .filter((line) => line.includes('cannot export traces'));
    expect(collectorLines().length).toBeLessThanOrEqual(2 * system.processes.length);
    collector.mode = 'silent';
    await clientCredentials(system.http);
    // At once, as each of them waits for the collector.
    const started = performance.now();
    await Promise.all(
      system.processes.map(async (process) => {
        expect(await process.stop(), process.name).toBe(0);
        expect(performance.now() - started, process.name).toBeLessThan(9000);
      }),
    );
  });
});
