import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metrics } from '@tessera/telemetry';
import { Secret, systemRandom } from '@tessera/kit';
import { temporarilyUnavailable } from '@tessera/oauth';
import { Decision } from '@tessera/proto-gen/device';
import { Status } from '@tessera/proto-gen/directory';
import { eventually, startReceiver, type Receiver } from '@tessera/test-kit';
import {
  codeOf,
  createWorld,
  decideBackchannel,
  hashOf,
  newPerson,
  startBackchannel,
  waitingFor,
  type World,
} from '../testing/world.ts';

const key = new Secret('a-webhook-key-of-at-least-32-characters');
const config = { TESSERA_WEBHOOK_KEY: key, TESSERA_ALLOW_PRIVATE: ['webhooks' as const] };

let world: World;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
  world = await createWorld({ config });
  await tell('acme-bank', 'ping');
  await tell('acme-box', 'ping');
});
afterAll(async () => {
  await world.service.close();
  await receiver.close();
});

const tell = (clientId: string, delivery: string, notificationEndpoint = receiver.url) =>
  world.directory.changeApplication(clientId, {
    ciba: { approval: 'page', url: '', delivery, notificationEndpoint },
  });

/** A request of a client with a notification endpoint, and how its person decides it. */
async function start(clientId: string, on = world) {
  receiver.received.length = 0;
  const who = newPerson(on);
  const clientNotificationToken = systemRandom.bytes(20).toString('base64url');
  const started = await startBackchannel(on, who.username, { clientId, clientNotificationToken });
  const decide = async (decision: Decision = Decision.APPROVE) => {
    const [waiting] = await waitingFor(on, who);
    return decideBackchannel(on, waiting?.requestId ?? '', who, decision);
  };
  /** The outcome of the delivery. */
  const ended = () => world.audited('ciba.notified', { subject: who.userId });
  return { ...started, who, decide, ended, authorization: `Bearer ${clientNotificationToken}` };
}

/** Notifications sent so far. */
const notifications = () =>
  receiver.received.map(({ headers, json }) => ({
    authorization: headers['authorization'],
    type: headers['content-type'],
    body: json(),
  }));

async function callbacks(count = 1) {
  await receiver.gotAll(count);
  return notifications();
}

describe('notifying a client of a decision by ping (CIBA Core §10.2)', () => {
  it.each([Decision.APPROVE, Decision.DENY])(
    'sends the auth_req_id for any decision (%d)',
    async (decision) => {
      const { authReqId, interval, decide, ended, authorization, poll } = await start('acme-bank');
      expect(interval).toBe(5);
      await decide(decision);
      expect(await callbacks()).toEqual([
        { authorization, type: 'application/json', body: { auth_req_id: authReqId } },
      ]);
      expect(await ended()).toMatchObject([{ reason: null, record: { details: { delivery: 'ping' } } }]);
      const outcome = decision === Decision.APPROVE ? 'no error' : 'access_denied';
      expect(await codeOf(poll())).toBe(outcome);
    },
  );

  it('lets the client poll in the meantime', async () => {
    const { poll } = await start('acme-bank');
    expect(await codeOf(poll())).toBe('authorization_pending');
  });

  it('retries while the receiver returns errors', async () => {
    const { decide, ended } = await start('acme-bank');
    receiver.answer(500);
    await decide();
    expect(await callbacks(2)).toHaveLength(2);
    expect(notifications()[1]).toEqual(notifications()[0]);
    expect(await metrics.text()).toMatch(/^tessera_deliveries_total\{mode="ping",outcome="failed"\} 1$/m);
    expect(await ended()).toMatchObject([{ reason: null, record: { details: { attempts: '2' } } }]);
  });

  it.each([401, 302, 404])(
    'neither retries nor follows a redirect after status %d (CIBA-4)',
    async (status) => {
      const { decide, ended } = await start('acme-bank');
      receiver.answer(status);
      await decide();
      expect((await ended()).map(({ reason }) => reason)).toEqual([`status_${status}`]);
      expect(notifications()).toHaveLength(1);
    },
  );

  it('connects to no private address unless the setting allows it (CIBA-4)', async () => {
    await world.service.close();
    const careful = await createWorld({ beside: world, config: { TESSERA_WEBHOOK_KEY: key } });
    await tell('acme-bank', 'ping', receiver.url.replace('http:', 'https:'));
    const { decide, ended } = await start('acme-bank', careful);
    await decide();
    expect((await ended()).map(({ reason }) => reason)).toEqual(['private_address']);
    expect(notifications()).toEqual([]);
    await careful.service.close();
    world = await createWorld({ beside: world, config });
    await tell('acme-bank', 'ping');
  });

  it('sends nothing to an application that has been disabled since', async () => {
    const { decide, ended } = await start('acme-bank');
    receiver.answer(503);
    await decide();
    await callbacks();
    await world.directory.changeApplication('acme-bank', { status: Status.DISABLED });
    expect((await ended()).map(({ reason }) => reason)).toEqual(['application_inactive']);
    await world.directory.changeApplication('acme-bank', { status: Status.ACTIVE });
  });

  it('notifies once per decision, however many processes deliver', async () => {
    const others = await Promise.all([1, 2, 3].map(() => createWorld({ beside: world, config })));
    const requests = await Promise.all(Array.from({ length: 20 }, () => start('acme-bank')));
    await Promise.all(requests.map(({ decide }) => decide()));
    await Promise.all(requests.map(({ ended }) => ended()));
    expect(notifications()).toHaveLength(requests.length);
    expect(new Set(notifications().map(({ body }) => body['auth_req_id']))).toEqual(
      new Set(requests.map(({ authReqId }) => authReqId)),
    );
    await Promise.all(others.map(({ service }) => service.close()));
  });

  it('makes the outcome available to polls first, even if the deciding process died before that', async () => {
    const failpoint = (name: string): void => {
      if (name === 'decision.after_commit') throw new Error('died');
    };
    const dying = await createWorld({ beside: world, runtime: { failpoint } });
    const { who, poll } = await start('acme-bank');
    const [waiting] = await waitingFor(dying, who);
    await expect(decideBackchannel(dying, waiting?.requestId ?? '', who)).rejects.toThrow();
    await callbacks();
    expect(await codeOf(poll())).toBe('no error');
    expect(await waitingFor(world, who)).toEqual([]);
    await dying.service.close();
  });

  it('is left to another process if the deciding process cannot deliver', async () => {
    const deciding = await createWorld({ beside: world });
    const { who, ended, authReqId } = await start('acme-bank');
    const [waiting] = await waitingFor(deciding, who);
    await decideBackchannel(deciding, waiting?.requestId ?? '', who);
    await deciding.service.close();
    await ended();
    expect(notifications().map(({ body }) => body['auth_req_id'])).toEqual([authReqId]);
  });

  it('stores auth_req_id and notification token only encrypted', async () => {
    const { authReqId, decide, authorization, ended } = await start('acme-bank');
    receiver.answer(503);
    await decide();
    await callbacks();
    const text = 'SELECT row_to_json(d)::text AS kept FROM device.delivery AS d';
    const { rows } = await world.database.query<{ kept: string }>({ name: 'test.kept', text });
    expect(rows.some(({ kept }) => kept.includes(hashOf(authReqId)))).toBe(true);
    const record = JSON.stringify(
      await world.redis.call('HGETALL', `device:grant:auth_req_id:${hashOf(authReqId)}`),
    );
    expect(record).toContain('sealed');
    for (const kept of [...rows.map((one) => one.kept), record]) {
      for (const secret of [authReqId, authorization.slice(7)]) expect(kept).not.toContain(secret);
    }
    await ended();
  });
});

it('lets a client poll whose record still asks for push', async () => {
  await tell('acme-box', 'push');
  const { interval, decide, poll } = await start('acme-box');
  expect(interval).toBe(5);
  await decide();
  expect(await codeOf(poll())).toBe('no error');
  const rows = await world.database.query({ name: 'test.rows', text: 'SELECT FROM device.delivery' });
  expect(rows.rowCount).toBe(0);
  await tell('acme-box', 'ping');
});

describe('notifying while Redis is unavailable (F1)', () => {
  /** A process that alone delivers, and whose Redis cannot be told of decisions until it is back. */
  async function withoutRedis() {
    await world.service.close();
    let isAway = true;
    let failures = 0;
    const redis = {
      ...world.redis,
      script: (source: { name: string; lua: string }) => {
        const run = world.redis.script(source);
        return async (...given: Parameters<typeof run>) => {
          if (!isAway || source.name !== 'device.settle') return run(...given);
          failures += 1;
          throw temporarilyUnavailable();
        };
      },
    };
    const alone = await createWorld({ beside: world, config, runtime: { redis } });
    return {
      alone,
      /** How often it was missed. */
      missed: () => failures,
      isBack: () => (isAway = false),
      async end() {
        await alone.service.close();
        world = await createWorld({ beside: world, config });
      },
    };
  }

  it('holds a ping until Redis is back, because its client polls, and counts no attempt', async () => {
    const { alone, missed, isBack, end } = await withoutRedis();
    const { decide, ended, poll } = await start('acme-bank', alone);
    expect(await codeOf(decide())).toBe('temporarily_unavailable');
    await eventually('two attempts could not be made', () => missed() === 3);
    expect(notifications()).toEqual([]);
    isBack();
    await callbacks();
    expect(await ended()).toMatchObject([{ reason: null, record: { details: { attempts: '1' } } }]);
    await end();
    expect(await codeOf(poll())).toBe('no error');
  });
});

describe('requesting notification (CIBA Core §7.1)', () => {
  const startWith = (clientNotificationToken: string, clientId = 'acme-bank') =>
    codeOf(startBackchannel(world, 'ada', { clientId, clientNotificationToken }));

  it.each([
    ['none', ''],
    ['one that is too long', 'a'.repeat(1025)],
    ['one that is no bearer token (RFC 6750 §2.1)', 'a b'],
    ['one that could add a header', 'a\r\nx: y'],
    ['one that is more than padding', '='],
  ])('requires a valid client_notification_token, not %s', async (_what, token) => {
    expect(await startWith(token)).toBe('invalid_request');
  });

  it.each(['a'.repeat(1024), '8d67dc78-7faa-4d41-aabd-67707b374255', 'aZ09-._~+/=='])(
    'accepts a client_notification_token in bearer token syntax: no. %#',
    async (token) => expect(await startWith(token)).toBe('no error'),
  );

  it('ignores the client_notification_token of a polling client', async () => {
    await world.directory.changeApplication('acme-hook', { ciba: { approval: 'page', url: '' } });
    expect(await startWith('a b', 'acme-hook')).toBe('no error');
  });

  it('is refused without TESSERA_WEBHOOK_KEY, and the delivery modes reflect that', async () => {
    const without = await createWorld({ beside: world });
    const started = startBackchannel(without, 'ada', {
      clientId: 'acme-bank',
      clientNotificationToken: 'abc',
    });
    await expect(started).rejects.toThrow(/is not available/);
    expect((await without.backchannel.getDeliveryModes({})).modes).toEqual(['poll']);
    expect((await world.backchannel.getDeliveryModes({})).modes).toEqual(['poll', 'ping']);
    await without.service.close();
  });
});

describe('a receiver that does not respond (DOS-7)', () => {
  it('delays only its own application, however many deliveries wait for it', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    await tell('acme-bank', 'ping', `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`);
    const bank = await start('acme-bank');
    await bank.decide();
    await world.database.query({
      name: 'test.flood',
      text: `INSERT INTO device.delivery
             SELECT d.delivery_id || n, d.tenant_id, d.client_id, d.hash, d.request_id, d.user_id, d.mode, d.outcome,
                    d.awaits_tokens, d.sealed, d.sealed_tokens, 0, now(), d.expires_at, d.call_id, d.ip_address
               FROM device.delivery AS d, generate_series(1, 400) AS n WHERE d.user_id = $1`,
      values: [bank.who.userId],
    });
    await new Promise((done) => setTimeout(done, 1_500));
    const box = await start('acme-box');
    const before = Date.now();
    await box.decide(Decision.DENY);
    await callbacks();
    expect(Date.now() - before).toBeLessThan(2_500);
    await world.database.query({ name: 'test.calm', text: 'DELETE FROM device.delivery' });
    silent.closeAllConnections();
    silent.close();
    await tell('acme-bank', 'ping');
  });
});
