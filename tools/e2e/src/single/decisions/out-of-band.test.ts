import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { decideCiba, decideDevice, dialects, fillIn, type Person, tokensOf } from '@tessera/test-client';
import { type Code, codeFor, expectError, redeem, refresh } from '../../harness/flows.ts';
import { poll, startCiba, startDevice } from '../../harness/out-of-band.ts';
import { people } from '../../harness/declared-state.ts';
import { copyOfRedis, emptyRedis } from '../../harness/redis.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

/** A code of each of three sessions of one person, every one in place of the one before. */
async function inThreeSessions(person: Person): Promise<Code[]> {
  const again = { prompt: 'login' };
  return [
    await codeFor(person),
    await codeFor(person, 'acme-web', again),
    await codeFor(person, 'acme-web', again),
  ];
}

/** What would disturb other tests of the device flow and CIBA, as it goes for a whole address or a whole Redis. */
describe('decisions elsewhere', () => {
  const prefix = `e2e-elsewhere-${Date.now()}:`;
  let system: System;

  beforeAll(async () => {
    system = await startSystem(setUps.compact, {
      stores: { databaseUrl: await installedDatabaseUrl(), redisUrl: redisUrl() },
      // A fifth of it, eight, are guesses of user codes.
      environment: { TESSERA_REDIS_KEY_PREFIX: prefix, TESSERA_LOGIN_FAILURES_PER_ADDRESS: '40' },
    });
  });
  afterAll(async () => system?.stop());

  it('end what was pending when Redis is lost, and stand by what was decided: given once, denied for good (F2)', async () => {
    const { http } = system;
    const [pending, approved, denied] = [
      await startDevice(http),
      await startDevice(http),
      await startDevice(http),
    ];
    const redeemed = await startCiba(http, { binding_message: 'once' });
    await decideCiba(system.person(), 'approve', 'once');
    tokensOf(await poll(http, 'ciba', redeemed, 'acme-desk'));
    await decideDevice(system.person(), approved.userCode, 'approve');
    await decideDevice(system.person(), denied.userCode, 'deny');

    await emptyRedis(prefix);

    expectError(await poll(http, 'device', pending.deviceCode, 'acme-tv'), 400, 'invalid_grant');
    expectError(await poll(http, 'device', denied.deviceCode, 'acme-tv'), 400, 'access_denied');
    expectError(await poll(http, 'ciba', redeemed, 'acme-desk'), 400, 'invalid_grant');
    const answers = await Promise.all(
      Array.from({ length: 10 }, async () => poll(http, 'device', approved.deviceCode, 'acme-tv')),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('outlive an older copy of Redis: a session that was ended gets nothing for its code, others do (SES-7, F2)', async () => {
    const { http } = system;
    const [gone, staying] = [system.person(), system.person()];
    const ended = await codeFor(gone);
    const [good, used] = [await codeFor(staying), await codeFor(staying)];
    const putBack = await copyOfRedis(prefix);
    await gone.get('/logout?client_id=acme-web');
    const { refreshToken } = tokensOf(await redeem(http, used));

    await putBack();

    for (const dialect of dialects) expectError(await redeem(http, ended, dialect), 400, 'invalid_grant');
    tokensOf(await redeem(http, good));
    expect((await redeem(http, used)).status).toBe(400);
    expect((await refresh(http, refreshToken)).status).toBe(400);
  });

  it('outlive an older copy of Redis: the codes of the sessions before, too, at a sign-out and at a sign-in of somebody else (SES-7, F2, I3)', async () => {
    const { http } = system;
    const [gone, switched] = [system.person(), system.person()];
    const [left, replaced] = [await inThreeSessions(gone), await inThreeSessions(switched)];
    const putBack = await copyOfRedis(prefix);
    await gone.get('/logout?client_id=acme-web');
    const next = await codeFor(switched, 'acme-web', { prompt: 'login' }, people.bob);

    await putBack();

    for (const code of [...left, ...replaced]) expectError(await redeem(http, code), 400, 'invalid_grant');
    // Issued after the copy was made.
    expect((await redeem(http, next)).status).toBe(400);
    tokensOf(await redeem(http, await codeFor(switched)));
  });

  it('outlive an answer that was lost: a sign-out ends the codes of the session that the browser came back with (SES-7, I3)', async () => {
    const person = system.person();
    const ended = await codeFor(person);
    const cookies = [...person.cookies];
    await codeFor(person, 'acme-web', { prompt: 'login' });
    for (const [name, value] of cookies) person.cookies.set(name, value);
    await codeFor(person);
    await person.get('/logout?client_id=acme-web');
    expectError(await redeem(system.http, ended), 400, 'invalid_grant');
  });

  it('lock an address that guesses user codes, with fresh cookies and forged forwarded headers too (DEV-7)', async () => {
    const { userCode } = await startDevice(system.http);
    const guess = async (code: string, at: number) => {
      const person = system.person();
      const forged = { 'x-forwarded-for': `203.0.113.${at}`, forwarded: `for=203.0.113.${at}` };
      const page = await person.get('/device', forged);
      return (await fillIn(person, page, 'user_code', { user_code: code })).status;
    };
    const statuses: number[] = [];
    for (let at = 0; at < 9; at += 1) statuses.push(await guess(`BBBB-BBB${'BCDFGHJKL'[at]}`, at));
    expect(statuses).toEqual([400, 400, 400, 400, 400, 400, 400, 400, 429]);
    expect(await guess(userCode, 99)).toBe(429);
  });
});
