import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl, startReceiver, type Receiver } from '@tessera/test-kit';
import { eventually } from '@tessera/test-kit/provision';
import { decideCiba, tokensOf } from '@tessera/test-client';
import { askCiba, poll } from '../../harness/out-of-band.ts';
import { firstOf, setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

const clientId = 'acme-pinged';
/** How soon a client is notified. */
const soonMs = 20_000;

/** Notifications to CIBA clients when a process dies at the worst moment, and when the endpoint is not allowed. */
describe.each(firstOf(setUps.compact, setUps.split))(
  'CIBA clients with a notification endpoint, $name',
  (setUp) => {
    let system: System;
    let receiver: Receiver;
    let database: pg.Client;
    const nameOf = (service: string): string => (setUp.topology === 'compact' ? 'standalone' : service);

    beforeAll(async () => {
      const databaseUrl = await installedDatabaseUrl();
      database = new pg.Client(databaseUrl);
      await database.connect();
      receiver = await startReceiver();
      system = await startSystem(setUp, {
        stores: { databaseUrl, redisUrl: redisUrl() },
        environment: {
          TESSERA_WEBHOOK_KEY: 'e2e-webhook-key-0123456789-0123456789-abcd',
          TESSERA_ALLOW_PRIVATE: 'webhooks',
        },
      });
      await system.apply({ notificationEndpoint: receiver.url });
    });
    afterAll(async () => {
      await system?.stop();
      await receiver?.close();
      await database?.end();
    });

    async function start() {
      const message = `Order ${randomBytes(3).toString('hex')}`;
      const form = {
        client_id: clientId,
        scope: 'openid offline_access orders.read',
        binding_message: message,
        client_notification_token: randomBytes(20).toString('base64url'),
      };
      let answer = await askCiba(system.http, form);
      // The gateway may not have reconnected to a restarted service yet.
      await eventually('the request is accepted', async () => {
        if (answer.status === 503) answer = await askCiba(system.http, form);
        return answer.status === 200;
      });
      const authReqId = answer.json()['auth_req_id'];
      return {
        poll: () => poll(system.http, 'ciba', String(authReqId), clientId),
        /** The process may die before it answers. */
        approve: () => decideCiba(system.person(), 'approve', message).catch(() => undefined),
        callbacks: () =>
          receiver.received.map(({ json }) => json()).filter((body) => body['auth_req_id'] === authReqId),
      };
    }

    /** What a process that died had taken is free again, as after the lease. */
    const endLeases = () => database.query('UPDATE device.delivery SET due_at = now()');

    async function died(service: string): Promise<void> {
      const process = system.processes.find(({ name }) => name === nameOf(service));
      await process?.ended();
      expect(process?.running).toBe(false);
      await endLeases();
      await system.restart(nameOf(service));
    }

    const notified = async () => {
      const text = `SELECT reason FROM device.audit_event
                  WHERE event = 'ciba.notified' AND record ->> 'clientId' = $1 ORDER BY recorded_at`;
      return (await database.query<{ reason: string | null }>(text, [clientId])).rows.map(
        ({ reason }) => reason,
      );
    };

    it('notifies of a decision if the process dies right after the commit', async () => {
      await system.restart(nameOf('device'), { TESSERA_FAILPOINT: 'decision.after_commit' });
      const request = await start();
      await request.approve();
      await died('device');
      await eventually('the client is notified', async () => request.callbacks().length > 0, soonMs);
      expect(request.callbacks()[0]).not.toHaveProperty('error');
      // Callers may still be reconnecting to the restarted process.
      let answer = await request.poll();
      await eventually('the poll is served', async () => {
        if (answer.status === 503) answer = await request.poll();
        return answer.status !== 503;
      });
      tokensOf(answer);
    });

    it('sends nothing to a private address unless the setting allows it (CIBA-4)', async () => {
      await system.restart(nameOf('device'), { TESSERA_ALLOW_PRIVATE: '' });
      const before = (await notified()).length;
      for (const [endpoint, reason] of [
        [receiver.url, 'not_https'],
        [receiver.url.replace('http:', 'https:'), 'private_address'],
      ] as const) {
        await system.apply({ notificationEndpoint: endpoint });
        const { approve, callbacks } = await start();
        await approve();
        await eventually('the failed delivery is audited', async () => (await notified()).at(-1) === reason);
        expect(callbacks()).toEqual([]);
      }
      expect(await notified()).toHaveLength(before + 2);
    });
  },
);
