import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Code, ConnectError } from '@tessera/rpc';
import { TokenKind } from '@tessera/proto-gen/token';
import { IntrospectionError } from './introspection-error.ts';
import { createIntrospector } from './introspector.ts';
import { audience, FakeServer, fakeToken, seconds } from './testing/fake-server.ts';
import type { Introspection } from './introspector-types.ts';

let server: FakeServer;
beforeEach(async () => {
  server = await new FakeServer().start();
  server.tokens.set('good', fakeToken());
});
afterEach(() => server.close());

const unwatched = { watch: false } as const;
const activeOf = (answers: Introspection[]) => answers.map(({ active }) => active);
const unavailable = () => new ConnectError('unavailable', Code.Unavailable);

describe('an introspector', () => {
  it('returns the result of the server', async () => {
    const introspector = server.introspector(unwatched);
    const { exp, iat } = server.tokens.get('good') ?? fakeToken();
    expect(await introspector.introspect('good')).toEqual({
      active: true,
      kind: 'access_token',
      sub: 'ada',
      clientId: 'web',
      scopes: ['orders.read', 'orders.write'],
      roles: ['clerk'],
      aud: audience,
      audiences: [audience],
      iss: 'https://id.example',
      tenantId: 'acme',
      exp: Number(exp),
      iat: Number(iat),
      jti: 'j1',
      authTime: 1_700_000_000,
      acr: '2',
      username: 'ada',
    });
    expect(await introspector.introspect('bad')).toEqual({ active: false });
  });

  it('caches an active result as long as the server allows, and never an inactive one', async () => {
    server.tokens.set('short', fakeToken({ cacheSeconds: 1 }));
    server.tokens.set('never', fakeToken({ cacheSeconds: 0, kind: TokenKind.REFRESH_TOKEN }));
    const introspector = server.introspector(unwatched);
    for (const token of ['good', 'short', 'never', 'bad']) {
      await introspector.introspect(token);
      await introspector.introspect(token);
    }
    expect(server.calls).toHaveLength(1 + 1 + 2 + 2);
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    await introspector.introspect('short');
    await introspector.introspect('good');
    expect(server.calls).toHaveLength(7);
    await introspector.introspect('good', { fresh: true });
    expect(server.calls).toHaveLength(8);
  });

  it('caches nothing beyond token expiry, its own bound or with caching disabled', async () => {
    server.tokens.set('ending', fakeToken({ exp: BigInt(seconds() + 1), cacheSeconds: 60 }));
    const introspector = server.introspector(unwatched);
    await introspector.introspect('ending');
    server.tokens.delete('ending');
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(await introspector.introspect('ending')).toEqual({ active: false });
    const bounded = server.introspector({ ...unwatched, cache: { maxSeconds: 0 } });
    const without = server.introspector({ ...unwatched, cache: false });
    const before = server.calls.length;
    for (const one of [bounded, without])
      for (let time = 0; time < 2; time += 1) await one.introspect('good');
    expect(server.calls.length - before).toBe(4);
  });

  it('caches at most the configured number of results', async () => {
    for (let index = 0; index < 300; index += 1) server.tokens.set(`token-${index}`, fakeToken());
    const sources: string[] = [];
    const introspector = server.introspector({
      ...unwatched,
      cache: { max: 100 },
      metrics: { onAnswer: ({ source }) => sources.push(source) },
    });
    const all = Array.from({ length: 300 }, (_, index) => `token-${index}`);
    await Promise.all(all.map((token) => introspector.introspect(token)));
    sources.length = 0;
    for (const token of all.toReversed().slice(0, 150)) await introspector.introspect(token);
    expect(sources.filter((source) => source === 'cache')).toHaveLength(100);
  });

  it('batches the requests of one tick into one call, in order, each token once', async () => {
    const introspector = server.introspector({ ...unwatched, cache: false });
    const tokens = Array.from({ length: 50 }, (_, index) => (index % 3 === 0 ? 'good' : `bad-${index}`));
    const answers = await Promise.all(tokens.map((token) => introspector.introspect(token)));
    expect(activeOf(answers)).toEqual(tokens.map((token) => token === 'good'));
    expect(server.calls).toEqual([new Set(tokens).size]);
  });

  it('keeps a call within the batch limit of the server', async () => {
    const introspector = server.introspector({ ...unwatched, cache: false, timeoutMs: 60_000 });
    await Promise.all(Array.from({ length: 2_300 }, (_, index) => introspector.introspect(`bad-${index}`)));
    expect(server.calls).toEqual([1_000, 1_000, 300]);
    server.calls.length = 0;
    const long = (index: number) => `${index}`.padEnd(16_000, 'x');
    await Promise.all(Array.from({ length: 400 }, (_, index) => introspector.introspect(long(index))));
    expect(server.calls.length).toBeGreaterThan(2);
  });

  it('treats an empty or oversized token as inactive, without a call', async () => {
    const introspector = server.introspector(unwatched);
    expect(await introspector.introspect('')).toEqual({ active: false });
    expect(await introspector.introspect('x'.repeat(5_000_000))).toEqual({ active: false });
    expect(server.calls).toEqual([]);
  });
});

describe('an error', () => {
  const codeOf = async (work: Promise<unknown>) => {
    const error = await work.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(IntrospectionError);
    return error instanceof IntrospectionError ? error.code : undefined;
  };

  it('of the transport is retried', async () => {
    const calls: { code: string }[] = [];
    const introspector = server.introspector({
      ...unwatched,
      metrics: { onCall: (call) => calls.push(call) },
    });
    server.failures.push(unavailable(), unavailable());
    expect(await introspector.introspect('good')).toMatchObject({ active: true });
    expect(calls).toMatchObject([{ code: 'ok', tokens: 1 }]);
    expect(server.calls).toEqual([1, 1, 1]);
  });

  it('that persists is reported as an error, never as an inactive token', async () => {
    const introspector = server.introspector({ ...unwatched, timeoutMs: 5_000 });
    server.failures.push(...Array.from({ length: 3 }, unavailable));
    expect(await codeOf(introspector.introspect('good'))).toBe('unavailable');
    server.failures.push(new ConnectError('a defect', Code.Internal));
    expect(await codeOf(introspector.introspect('good'))).toBe('internal');
    await server.stop();
    expect(await codeOf(introspector.introspect('good'))).toBe('unavailable');
    await server.start();
    await expect
      .poll(() => introspector.introspect('good').catch(() => undefined))
      .toMatchObject({
        active: true,
      });
  });

  it('for one token of a batch does not affect the others', async () => {
    server.troubled.add('troubled');
    const introspector = server.introspector(unwatched);
    const [good, troubled, bad] = await Promise.allSettled(
      ['good', 'troubled', 'bad'].map((token) => introspector.introspect(token)),
    );
    expect(good).toMatchObject({ value: { active: true } });
    expect(troubled).toMatchObject({ reason: { code: 'unavailable', retryAfterSeconds: 7 } });
    expect(bad).toMatchObject({ value: { active: false } });
  });

  it('of our own credentials is reported as such', async () => {
    const stranger = createIntrospector({
      target: server.target,
      credentials: { sharedToken: 'another token than that' },
      watch: false,
    });
    expect(await codeOf(stranger.introspect('good'))).toBe('unauthenticated');
    await stranger.close();
    expect(await codeOf(stranger.introspect('good'))).toBe('closed');
  });

  it('is reported within the given deadline', async () => {
    const introspector = createIntrospector({
      target: '192.0.2.1:1',
      credentials: {},
      watch: false,
      timeoutMs: 300,
    });
    const started = performance.now();
    expect(await codeOf(introspector.introspect('good'))).toMatch(/deadline_exceeded|unavailable/);
    expect(performance.now() - started).toBeLessThan(1_000);
    await introspector.close();
  });

  it('of a caller who gave up affects only that caller', async () => {
    const introspector = server.introspector({ ...unwatched, cache: false });
    const giving = new AbortController();
    const [first, second] = [
      introspector.introspect('good', { signal: giving.signal }),
      introspector.introspect('good'),
    ];
    giving.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    expect(await second).toMatchObject({ active: true });
  });
});

describe('an access token of our own', () => {
  it('is sent with every call and fetched again after a refusal', async () => {
    let valid = 'first';
    const guarded = await new FakeServer((token) => token === valid).start();
    guarded.tokens.set('good', fakeToken());
    const asked: boolean[] = [];
    const introspector = guarded.introspector({
      ...unwatched,
      cache: false,
      credentials: {
        accessToken: (refused) => {
          asked.push(refused);
          return refused ? valid : 'first';
        },
      },
    });
    try {
      expect(await introspector.introspect('good')).toMatchObject({ active: true });
      valid = 'second';
      expect(await introspector.introspect('good')).toMatchObject({ active: true });
      expect(asked).toEqual([false, false, true]);
    } finally {
      await guarded.close();
    }
  });
});
