import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import type { InjectOptions } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { createLogger } from '@tessera/telemetry';
import { fakeClock, testRuntime } from '@tessera/test-kit';
import { antiForgery } from '@tessera/pages';
import { purpose } from '../pages/form.ts';
import { openGateway, type Behaviours, type TestGateway } from '../testing/fake-services.ts';

let gateway: TestGateway | undefined;
afterEach(async () => gateway?.close());

const browserId = `tb_${'a'.repeat(43)}`;
const cookie = `tessera_browser=${browserId}; tessera_session=ts_x`;
const form = (url: string, fields: Record<string, string>): InjectOptions => ({
  method: 'POST',
  url,
  headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
  payload: new URLSearchParams(fields).toString(),
});
const csrf = (of: string) => antiForgery.token(browserId, of);
const session = {
  sessionId: 's1',
  tenantId: 'acme',
  userId: 'u1',
  username: 'ada',
  authentication: { time: 0 },
};

/** Every call that may wait for a server of others, and a request that makes it. */
const waiting = {
  endProviderSessions: form('/login/provider/acme/corp/backchannel-logout', { logout_token: 'a.b.c' }),
  answerFromProvider: { url: '/login/provider/acme/corp?code=x&state=y', headers: { cookie } },
  continue: form('/login', {
    interaction: 'ti_abc',
    csrf: csrf(purpose.signIn('ti_abc')),
    provider: 'corp',
  }),
  linkProvider: form('/account', {
    csrf: csrf(purpose.changeAccount('u1', 'link_provider', 'corp')),
    change: 'link_provider',
    target: 'corp',
    tenant: 'acme',
  }),
  endSession: { url: '/logout', headers: { cookie } },
} satisfies Partial<Record<keyof Behaviours, InjectOptions>>;
/** For a place that comes when the event loop has nothing else to do. */
const patient = { timeout: 60_000 };
const methods = Object.keys(waiting) as (keyof typeof waiting)[];

/** A gateway whose `method` waits until it is released, and whose clock stands still. */
function open(method: keyof typeof waiting) {
  const clock = fakeClock();
  const lines: string[] = [];
  const log = createLogger({ service: 'test', level: 'info' }, { write: (line) => void lines.push(line) });
  const release = Promise.withResolvers<never>();
  let waits = 0;
  const wait = () => {
    waits += 1;
    return release.promise;
  };
  let answering = Promise.withResolvers<{ accessToken: string; expiresIn: number }>();
  let exchanges = 0;
  const exchange = () => {
    exchanges += 1;
    return answering.promise;
  };
  let ended = 0;
  /** Sends token requests at once; whether each had a place before any request ended, as calls have deadlines. */
  const haveAll = async (requests: number): Promise<boolean> => {
    answering = Promise.withResolvers();
    exchanges = 0;
    ended = 0;
    const answers = Array.from({ length: requests }, async () => {
      await app.inject({ method: 'POST', url: '/token', headers, body });
      ended += 1;
    });
    while (exchanges < requests && ended === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const had = exchanges === requests;
    answering.resolve({ accessToken: 'at', expiresIn: 60 });
    await Promise.all(answers);
    return had;
  };
  const quick = { exchange, getSession: () => ({ session }) };
  gateway = openGateway(testRuntime({ clock, log }), { ...quick, [method]: wait });
  const { app } = gateway;
  const body = JSON.stringify({ grantType: 'client_credentials', clientId: 'a', clientSecret: 'b' });
  const headers = { 'content-type': 'application/json' };
  return {
    lines,
    waits: () => waits,
    ask: async (remoteAddress: string) => {
      const answer = await app.inject({ ...waiting[method], remoteAddress });
      ended += 1;
      return answer;
    },
    haveAll,
    release(tookMs: number) {
      clock.advance(tookMs);
      release.reject(new Error('gone'));
    },
  };
}

describe.each(methods)('requests that wait for a server of others in %s', (method) => {
  it('are refused at once beyond 64 of one address and 256 in all, with 503, Retry-After and one line in the log', async () => {
    const { ask, waits, lines, release } = open(method);
    const first = Array.from({ length: 64 }, () => ask('192.0.2.1'));
    await expect.poll(waits, patient).toBe(64);
    for (let time = 0; time < 10; time += 1) {
      const refused = await ask('192.0.2.1');
      expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '2']);
    }
    const others = Array.from({ length: 192 }, (_, index) => ask(`198.51.100.${index}`));
    await expect.poll(waits, patient).toBe(256);
    expect((await ask('203.0.113.1')).statusCode).toBe(503);
    expect(lines.filter((line) => line.includes('"message":"request"'))).toEqual([]);
    expect(
      lines.filter((line) => line.includes('too many requests wait for servers of others')),
    ).toHaveLength(1);
    release(0);
    await Promise.all([...first, ...others]);
  });

  it('hold no place of others, and their time says nothing about the load', async () => {
    const { ask, waits, haveAll, release } = open(method);
    let slow: Promise<unknown>[] = [];
    const slowAnd = async (requests: number): Promise<boolean> => {
      const before = waits();
      slow = Array.from({ length: 250 }, (_, index) => ask(`198.51.100.${index}`));
      await expect.poll(waits, patient).toBe(before + 250);
      if (await haveAll(requests)) return true;
      await Promise.all(slow);
      return false;
    };
    // Again for a machine that is too busy to send them before the first of them ends.
    const tried = async (attempt: () => Promise<boolean>) => {
      for (let count = 0; count < 20; count += 1) if (await attempt()) return true;
      return false;
    };
    expect(await tried(async () => slowAnd(800))).toBe(true);
    release(15_000);
    await Promise.all(slow);
    expect(await tried(async () => haveAll(300))).toBe(true);
  });
});

it('goes past the bounds nowhere: each call that may wait is made within waitForOthers', async () => {
  const called = new RegExp(`\\.(${methods.join('|')})\\(`);
  const found: string[] = [];
  for await (const file of glob('**/*.ts', { cwd: new URL('..', import.meta.url) })) {
    if (/\.test\.ts$|testing\//.test(file)) continue;
    const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
    if (!called.test(text)) continue;
    found.push(file);
    expect(/\bwaitForOthers\(\s*request,\s*gateway,/.test(text), file).toBe(true);
  }
  expect(found).toHaveLength(methods.length);
});
