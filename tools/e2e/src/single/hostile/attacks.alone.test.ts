import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { people } from '../../harness/declared-state.ts';
import { eventually } from '@tessera/test-kit/provision';
import {
  antiForgeryToken,
  decideDevice,
  fillIn,
  formRequestId,
  formsOf,
  openApprovals,
  Person,
  submitDecision,
  tokensOf,
} from '@tessera/test-client';
import { authorizeQuery, codeFor, expectError } from '../../harness/flows.ts';
import { askCiba, askDevice, poll, startDevice } from '../../harness/out-of-band.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

const redisPrefix = `e2e-attacks-${Date.now()}:`;

/**
 * Attacks that once worked, in a bounded form and with lower limits. The test is the trusted proxy of every address.
 */
describe('attacks', () => {
  let system: System;
  let database: pg.Client;

  beforeAll(async () => {
    const databaseUrl = await installedDatabaseUrl();
    database = new pg.Client(databaseUrl);
    await database.connect();
    const environment = {
      TESSERA_REDIS_KEY_PREFIX: redisPrefix,
      TESSERA_TRUSTED_PROXIES: '127.0.0.1/32',
      TESSERA_LOG_LEVEL: 'info',
      TESSERA_AUTHORIZATION_PENDING_PER_ADDRESS: '20',
      // A client may start twice as many flows.
      TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: '40',
      TESSERA_CIBA_REQUESTS_PER_USER: '6',
      // Of user codes 6, and 36 from all addresses.
      TESSERA_LOGIN_FAILURES_PER_ADDRESS: '30',
      TESSERA_DEVICE_POLL_INTERVAL: '1s',
    };
    const stores = { databaseUrl, redisUrl: redisUrl() };
    system = await startSystem(setUps.compact, { stores, environment });
  });
  afterAll(async () => {
    await system?.stop();
    await database?.end();
  });

  const from = (address: string) => ({ 'x-forwarded-for': address });
  const personAt = (address: string): Person => new Person(system.http, people.ada, from(address));
  /** The statuses of `count` requests, sent one after the other, and how many there were of each. */
  async function statuses(count: number, send: (index: number) => Promise<{ status: number }>) {
    const counts: Record<number, number> = {};
    for (let index = 0; index < count; index += 1) {
      const { status } = await send(index);
      counts[status] = (counts[status] ?? 0) + 1;
    }
    return counts;
  }

  it('device flows started in the name of a client leave it limits of its own', async () => {
    const { http } = system;
    const confidential = { client_id: 'acme-box', scope: 'openid orders.read' };
    const addressOf = (index: number) => from(`198.51.100.${50 + (index % 3)}`);
    const anonymous = await statuses(84, (index) => askDevice(http, confidential, addressOf(index)));
    expect(anonymous).toEqual({ 200: 80, 429: 4 });
    const secret = { client_secret: 'acme-box-secret-0123456789-0123456789-abcd' };
    expect(await statuses(12, () => askDevice(http, { ...confidential, ...secret }))).toEqual({ 200: 12 });
  });

  it('CIBA requests started in the name of a client show its users no text of the attacker', async () => {
    const { http } = system;
    const anonymous = (message: string) =>
      http.ask('POST', '/backchannel_authentication', {
        form: {
          client_id: 'acme-desk',
          scope: 'openid',
          login_hint: people.ada.username,
          binding_message: message,
        },
      });
    const counts = await statuses(12, () => anonymous('Attacker 4711'));
    expect(counts).toEqual({ 200: 6, 429: 6 });
    const genuine = await askCiba(http, { scope: 'openid', binding_message: 'Desk 0815' });
    expect(genuine.status).toBe(200);
    const page = await openApprovals(personAt('203.0.113.1'), people.ada);
    expect(page.text).toContain('Desk 0815');
    expect(page.text).not.toContain('Attacker 4711');
  });

  it.each([
    ['a run of combining marks', `Pay${'\u0315'.repeat(40)}`],
    ['a blank letter', 'Order\u31644711'],
  ])('binding messages with %s are refused', async (_what, message) => {
    expectError(await askCiba(system.http, { binding_message: message }), 400, 'invalid_binding_message');
  });

  it('authorization requests cannot fill Redis: an address has a quota, and a record a size', async () => {
    const state = 'x'.repeat(8_192);
    const begin = (address: string, length = state.length) =>
      personAt(address).get(`/authorize?${authorizeQuery({ state: 'x'.repeat(length) })}`);
    expect(await statuses(30, () => begin('198.51.100.1'))).toEqual({ 302: 20, 429: 10 });
    expect((await begin('198.51.100.2')).status).toBe(302);
    const tooLong = await begin('198.51.100.3', 8_193);
    expect([tooLong.status, tooLong.header('location')]).toEqual([
      302,
      expect.stringMatching(/[?&]error=invalid_request&/),
    ]);
    const redis = new Redis(redisUrl());
    try {
      const keys = await redis.keys(`${redisPrefix}authorize:interaction:*`);
      expect(keys.length).toBeGreaterThanOrEqual(20);
      const sizes = await Promise.all(keys.map((key) => redis.strlen(key)));
      expect(Math.max(...sizes)).toBeLessThanOrEqual(24 * 1024 + 64);
    } finally {
      redis.disconnect();
    }
  });

  it('invented tenants cannot flood the audit trail', async () => {
    const attacker = personAt('198.51.100.10');
    await attacker.get('/approvals?tenant=acme');
    const counts = await statuses(300, (index) => {
      const tenant = `invented-${index}`;
      const csrf = antiForgeryToken(attacker, `sign-in\0${tenant}`);
      return attacker.post('/approvals', { tenant, identifier: `nobody-${index}`, password: 'wrong', csrf });
    });
    expect(Object.keys(counts).every((status) => ['401', '429'].includes(status))).toBe(true);
    await eventually('the last row is written', async () => (await failuresFrom('198.51.100.10')) > 0);
    expect(await failuresFrom('198.51.100.10')).toBeLessThanOrEqual(140);
  });

  async function failuresFrom(address: string): Promise<number> {
    const { rows } = await database.query<{ count: string }>(
      `SELECT count(*) FROM authorize.audit_event WHERE outcome = 'failure' AND record->>'ipAddress' = $1`,
      [address],
    );
    return Number(rows[0]?.count);
  }

  it('sign-ins from one address cannot keep others from signing in', async () => {
    let flooding = true;
    let attempts = 0;
    const flood = Array.from({ length: 60 }, async () => {
      while (flooding) {
        const answer = await personAt('198.51.100.20').authorize(authorizeQuery(), people.ada);
        expect([302, 429, 503]).toContain(answer.status);
        attempts += 1;
      }
    });
    try {
      await eventually('the flood is under way', () => Promise.resolve(attempts >= 20));
      const others = await statuses(10, (index) =>
        personAt(`203.0.113.${20 + index}`).authorize(authorizeQuery(), people.bob),
      );
      expect(others[302] ?? 0).toBeGreaterThanOrEqual(9);
    } finally {
      flooding = false;
      await Promise.all(flood);
    }
  });

  it('foreign hosts cannot fill the log', async () => {
    const before = system.output().length;
    const counts = await statuses(200, (index) =>
      system.http.ask('GET', '/authorize', { headers: { host: `evil-${index}.example` } }),
    );
    expect(counts).toEqual({ 400: 200 });
    const added = system.output().slice(before);
    expect(added).not.toContain('evil-');
    expect(added.split('\n').filter((line) => line.includes('"level":"warn"')).length).toBeLessThan(5);
    expect(added.length / 200).toBeLessThan(600);
  });

  it('wrong user codes from many addresses stop no device flow: people sign in first', async () => {
    const { http } = system;
    const guess = (address: string) => async () => {
      const guesser = personAt(address);
      return fillIn(guesser, await guesser.get('/device'), 'user_code', { user_code: 'BBBB-BBBB' });
    };
    for (let index = 0; index < 13; index += 1) await statuses(3, guess(`198.51.100.${30 + index}`));
    const { deviceCode, userCode } = await startDevice(http);
    const owner = personAt('203.0.113.40');
    const asked = await fillIn(owner, await owner.get('/device'), 'user_code', { user_code: userCode });
    expect(asked.status).toBe(200);
    const [tenantForm] = formsOf(asked);
    const query = new URLSearchParams({ ...Object.fromEntries(tenantForm?.fields ?? []), tenant: 'acme' });
    const signIn = await owner.get(`/device?${query.toString()}`);
    const confirmation = await fillIn(owner, signIn, 'password', {
      identifier: people.ada.username,
      password: people.ada.password,
    });
    await submitDecision(owner, '/device', formRequestId(confirmation), 'approve');
    tokensOf(await poll(http, 'device', deviceCode, 'acme-tv'));
    const other = personAt('203.0.113.41');
    await codeFor(other);
    const second = await startDevice(http);
    expect((await decideDevice(other, second.userCode, 'approve')).status).toBe(200);
  });
});
