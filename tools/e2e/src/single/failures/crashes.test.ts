import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { emptyRedis } from '../../harness/redis.ts';
import { firstOf, setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';
import { introspect, tokensOf } from '@tessera/test-client';
import { authorizeQuery, codeFor, expectError, redeem, refresh } from '../../harness/flows.ts';

/** Processes that die at the worst moment, and restarts. */
describe.each(firstOf(setUps.split, setUps.compact))('crashes and restarts, $name', (setUp) => {
  let system: System;
  const victim = setUp.topology === 'compact' ? 'standalone' : 'token';
  const prefix = `e2e-crash-${setUp.topology}-${Date.now()}:`;
  /** In the order of the tests: what a process does after its death does not come past the next one. */
  const failpoints = [
    'refresh.before_commit',
    'code.before_commit',
    'refresh.after_commit',
    'code.after_commit',
  ] as const;
  type Failpoint = (typeof failpoints)[number];
  /** Where the victim dies, as it runs now. */
  let armed: Failpoint | undefined;

  beforeAll(async () => {
    const stores = { databaseUrl: await installedDatabaseUrl(), redisUrl: redisUrl() };
    system = await startSystem(setUp, {
      stores,
      environment: { TESSERA_REDIS_KEY_PREFIX: prefix, TESSERA_REFRESH_RETRY_WINDOW: '60s' },
    });
  });
  afterAll(async () => system?.stop());

  async function arm(failpoint: Failpoint | undefined): Promise<void> {
    await system.restart(victim, failpoint === undefined ? {} : { TESSERA_FAILPOINT: failpoint });
    armed = failpoint;
  }

  /** The process dies during `work`; afterwards it runs again, with the failpoint of the next test. */
  async function dyingAt(failpoint: Failpoint, work: () => Promise<{ status: number }>): Promise<void> {
    if (armed !== failpoint) await arm(failpoint);
    const outcome = await work().then(
      (answer) => answer.status,
      () => 'connection lost' as const,
    );
    expect([503, 'connection lost']).toContain(outcome);
    const process = system.processes.find(({ name }) => name === victim);
    await process?.ended();
    expect(process?.running).toBe(false);
    await arm(failpoints[failpoints.indexOf(failpoint) + 1]);
  }

  async function expectRetryAfter(failpoint: Failpoint): Promise<void> {
    const { http } = system;
    const first = tokensOf(await redeem(http, await codeFor(system.person())));
    await dyingAt(failpoint, async () => refresh(http, first.refreshToken));
    const second = tokensOf(await refresh(http, first.refreshToken));
    const again = tokensOf(await refresh(http, first.refreshToken));
    expect(again.refreshToken === second.refreshToken).toBe(true);
    const third = tokensOf(await refresh(http, second.refreshToken));
    expect(await introspect(http, third.refreshToken)).toMatchObject({ active: true });
  }

  it('lets the retry of a refresh succeed after a kill at refresh.before_commit, without a fork', async () => {
    await expectRetryAfter('refresh.before_commit');
  });

  it('lets the retry of a redemption succeed after a kill at code.before_commit', async () => {
    if (setUp.stores !== 'real') throw new Error('needs real stores');
    const code = await codeFor(system.person());
    await dyingAt('code.before_commit', async () => redeem(system.http, code));
    tokensOf(await redeem(system.http, code));
    expectError(await redeem(system.http, code), 400, 'invalid_grant');
  });

  it('lets the retry of a refresh succeed after a kill at refresh.after_commit, without a fork', async () => {
    await expectRetryAfter('refresh.after_commit');
  });

  it('refuses the repeat of a redemption after a kill at code.after_commit, as RFC 6749 section 4.1.2 asks', async () => {
    const code = await codeFor(system.person());
    await dyingAt('code.after_commit', async () => redeem(system.http, code));
    expectError(await redeem(system.http, code), 400, 'invalid_grant');
  });

  it('keeps every sign-in and revives nothing when every process restarts and Redis is flushed', async () => {
    const { http } = system;
    const person = system.person();
    const code = await codeFor(person);
    const first = tokensOf(await redeem(http, code));
    const ended = system.person();
    const pending = await codeFor(ended);
    await ended.get('/logout?client_id=acme-web');
    const second = tokensOf(await refresh(http, first.refreshToken));
    const third = tokensOf(await refresh(http, second.refreshToken));

    await emptyRedis(prefix);
    await system.restart();

    const silent = await person.get(`/authorize?${authorizeQuery({ prompt: 'none' })}`);
    expect(new URL(silent.header('location') ?? '').searchParams.has('code')).toBe(true);
    const still = await ended.get(`/authorize?${authorizeQuery()}`);
    expect(still.header('location')).toMatch(/^\/login\?/);
    expectError(await redeem(http, pending), 400, 'invalid_grant');
    expectError(await redeem(http, code), 400, 'invalid_grant');
    const fourth = tokensOf(await refresh(http, third.refreshToken));
    expectError(await refresh(http, first.refreshToken), 400, 'invalid_grant');
    expect(await introspect(http, fourth.refreshToken)).toEqual({ active: false });
  });
});
