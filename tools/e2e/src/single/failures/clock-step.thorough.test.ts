import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { eventually } from '@tessera/test-kit/provision';
import { introspect, tokensOf } from '@tessera/test-client';
import { clientCredentials, codeFor, redeem, refresh } from '../../harness/flows.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

const preload = import.meta.resolve('@tessera/test-client/steppable-clock');

/** Its time is that of this process, whose clock stays as it is. */
function expectPresent({ accessToken }: { readonly accessToken: string }): void {
  const [, payload = ''] = accessToken.split('.');
  const { iat } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { iat: number };
  expect(Math.abs(iat - Date.now() / 1000)).toBeLessThan(60);
}

describe.each([setUps.compact, setUps.split])('a clock that steps by an hour, $name', (setUp) => {
  let system: System;
  const name = setUp.topology === 'compact' ? 'standalone' : 'token';

  beforeAll(async () => {
    const stores = { databaseUrl: await installedDatabaseUrl(), redisUrl: redisUrl() };
    system = await startSystem(setUp, { stores, environment: { NODE_OPTIONS: `--import ${preload}` } });
  });
  afterAll(async () => system?.stop());

  const readiness = async (): Promise<number> =>
    (await fetch(`http://127.0.0.1:${system.environmentOf(name)['TESSERA_MANAGEMENT_PORT']}/readyz`)).status;

  it('withdraws readiness and answers 503 instead of tokens of the wrong time, until it is put right', async () => {
    const { http } = system;
    const step = () => system.processes.find((process) => process.name === name)?.signal('SIGWINCH');
    const before = tokensOf(await redeem(http, await codeFor(system.person())));
    const code = await codeFor(system.person());
    expect(await readiness()).toBe(200);

    step();
    const answers = await Promise.all(Array.from({ length: 40 }, async () => clientCredentials(http)));
    // Some may have come before the signal.
    for (const answer of answers.filter(({ status }) => status === 200)) expectPresent(tokensOf(answer));
    await eventually('no token is issued', async () => (await clientCredentials(http)).status === 503);
    await eventually('readiness is withdrawn', async () => (await readiness()) === 503);
    const refused = await redeem(http, code);
    expect(refused.status).toBe(503);
    expect(refused.header('retry-after')).toMatch(/^\d+$/);
    expect((await refresh(http, before.refreshToken)).status).toBe(503);
    expect((await http.ask('POST', '/introspect', { json: { token: before.accessToken } })).status).toBe(503);

    step();
    await eventually('readiness is back', async () => (await readiness()) === 200);
    await eventually('tokens are issued', async () => (await clientCredentials(http)).status === 200);
    const after = tokensOf(await redeem(http, code));
    expectPresent(after);
    expectPresent(tokensOf(await refresh(http, before.refreshToken)));
    expect(await introspect(http, after.accessToken)).toMatchObject({ active: true });
  });
});
