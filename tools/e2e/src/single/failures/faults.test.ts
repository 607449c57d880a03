import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { eventually } from '@tessera/test-kit/provision';
import {
  type Answer,
  CuttableProxy,
  dialects,
  introspect,
  type Person,
  revoke,
  tokensOf,
} from '@tessera/test-client';
import {
  authorizeQuery,
  clientCredentials,
  codeFor,
  expectError,
  redeem,
  refresh,
} from '../../harness/flows.ts';
import { firstOf, setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

/** What a caller may wait for an answer while a store is unavailable: the deadline of a call and a little. */
const patience = 5000;

async function proxied(url: string): Promise<{ proxy: CuttableProxy; url: string }> {
  const target = new URL(url);
  const proxy = new CuttableProxy(target.hostname, Number(target.port));
  await proxy.start();
  target.hostname = '127.0.0.1';
  target.port = String(proxy.port);
  return { proxy, url: target.href };
}

async function inTime(work: Promise<Answer>): Promise<Answer> {
  const started = Date.now();
  const answer = await work;
  expect(Date.now() - started).toBeLessThan(patience);
  return answer;
}

async function expectUnavailable(work: Promise<Answer>): Promise<void> {
  const answer = await inTime(work);
  expectError(answer, 503, 'temporarily_unavailable');
  expect(Number(answer.header('retry-after'))).toBeGreaterThan(0);
}

describe.each(firstOf(setUps.split, setUps.compact))('unavailable stores, $name', (setUp) => {
  let system: System;
  let postgres: CuttableProxy;
  let redis: CuttableProxy;

  beforeAll(async () => {
    const database = await proxied(await installedDatabaseUrl());
    const shortLived = await proxied(redisUrl());
    postgres = database.proxy;
    redis = shortLived.proxy;
    system = await startSystem(setUp, {
      stores: { databaseUrl: database.url, redisUrl: shortLived.url },
      environment: { TESSERA_DATABASE_STATEMENT_TIMEOUT: '1s' },
    });
  });
  afterAll(async () => {
    await system?.stop();
    await postgres?.stop();
    await redis?.stop();
  });

  /** Where a busy machine makes a store answer later than it may, the answer is 503, rightly. */
  async function tokensOfPerson(person: Person): Promise<ReturnType<typeof tokensOf>> {
    const got: ReturnType<typeof tokensOf>[] = [];
    await eventually(
      'a person gets tokens',
      async () => got.push(tokensOf(await redeem(system.http, await codeFor(person)))) > 0,
    );
    return got[0] as ReturnType<typeof tokensOf>;
  }

  async function expectPublicDocuments(): Promise<void> {
    expect((await system.http.ask('GET', '/.well-known/openid-configuration')).status).toBe(200);
    const keys = await system.http.ask('GET', '/.well-known/jwks.json');
    expect(keys.status).toBe(200);
    expect((keys.json()['keys'] as unknown[]).length).toBeGreaterThan(0);
  }

  it.each(['refuse', 'silent'] as const)(
    'answers 503 for what needs Redis and serves the rest while Redis is unavailable (%s)',
    async (how) => {
      const { http } = system;
      const person = system.person();
      const tokens = await tokensOfPerson(person);
      const code = await codeFor(person);
      redis.cut(how);
      try {
        const query = authorizeQuery();
        await expectUnavailable(person.get(`/authorize?${query}`, { accept: 'application/json' }));
        for (const dialect of dialects) await expectUnavailable(redeem(http, code, dialect));
        const refreshed = tokensOf(await refresh(http, tokens.refreshToken));
        tokensOf(await clientCredentials(http));
        expect(await introspect(http, refreshed.refreshToken)).toMatchObject({ active: true });
        expect((await revoke(http, refreshed.refreshToken)).status).toBe(200);
        await expectPublicDocuments();
      } finally {
        redis.heal();
      }
      await eventually(
        'the code can be redeemed',
        async () => (await redeem(http, code)).status === 200,
        15_000,
      );
    },
  );

  it.each(['refuse', 'silent'] as const)(
    'answers 503 and never a lie while Postgres is unavailable (%s), and comes back by itself',
    async (how) => {
      const { http } = system;
      const person = system.person();
      const tokens = await tokensOfPerson(person);
      const service = tokensOf(await clientCredentials(http));
      const code = await codeFor(person);
      postgres.cut(how);
      try {
        for (const dialect of dialects) {
          await expectUnavailable(refresh(http, tokens.refreshToken, 'acme-web', dialect));
          await expectUnavailable(redeem(http, code, dialect));
        }
        await expectUnavailable(http.ask('POST', '/introspect', { json: { token: tokens.refreshToken } }));
        await expectUnavailable(revoke(http, tokens.refreshToken));
        await expectUnavailable(person.get(`/authorize?${authorizeQuery()}`, { accept: 'application/json' }));
        expect(await introspect(http, service.accessToken)).toMatchObject({ active: true });
        await expectPublicDocuments();
      } finally {
        postgres.heal();
      }
      await eventually(
        'a refresh succeeds',
        async () => (await refresh(http, tokens.refreshToken)).status === 200,
        20_000,
      );
      tokensOf(await redeem(http, code));
      const again = await person.get(`/authorize?${authorizeQuery()}`);
      expect(new URL(again.header('location') ?? '/', system.baseUrl).searchParams.has('code')).toBe(true);
    },
  );
});
