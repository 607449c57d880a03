import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { people } from '../../harness/declared-state.ts';
import { decideDevice } from '@tessera/test-client';
import { authorizeQuery, codeFor } from '../../harness/flows.ts';
import { startDevice } from '../../harness/out-of-band.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

describe('wrong passwords from elsewhere', () => {
  let system: System;

  beforeAll(async () => {
    const environment = {
      TESSERA_REDIS_KEY_PREFIX: `e2e-known-${Date.now()}:`,
      TESSERA_LOGIN_FAILURES_PER_ACCOUNT: '4',
    };
    const stores = { databaseUrl: await installedDatabaseUrl(), redisUrl: redisUrl() };
    system = await startSystem(setUps.compact, { stores, environment });
  });
  afterAll(async () => system?.stop());

  it('lock an account in other browsers, and leave it open where its owner has signed in before', async () => {
    const owner = system.person();
    await codeFor(owner);
    owner.cookies.delete('tessera_session');
    const guess = async (password: string) =>
      (await system.person().authorize(authorizeQuery(), { ...people.ada, password })).status;
    for (let index = 0; index < 4; index += 1) expect(await guess('wrong')).toBe(401);
    expect(await guess(people.ada.password)).toBe(429);
    await codeFor(owner);
    await codeFor(owner, 'acme-web', { prompt: 'login' });
    owner.cookies.delete('tessera_session');
    const { userCode } = await startDevice(system.http);
    expect((await decideDevice(owner, userCode, 'approve')).status).toBe(200);
    expect(await guess(people.ada.password)).toBe(429);
  });
});
