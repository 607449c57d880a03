import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect } from 'vitest';
import { startReceiver, type Received, type Receiver } from '@tessera/test-kit';
import { decideCiba, type DecisionWord, describeFailure } from '@tessera/test-client';
import { people } from './declared-state.ts';
import { askCiba } from './out-of-band.ts';
import type { System } from './set-up.ts';

/** Starts a request that bob decides: other suites use up the limit on ada's decisions per minute. */
async function startNotified(
  system: System,
  receiver: Receiver,
  scope = 'openid offline_access orders.read',
) {
  const { http } = system;
  const notificationToken = randomBytes(20).toString('base64url');
  http.seen.add(notificationToken);
  const message = `Order ${randomBytes(3).toString('hex')}`;
  const answer = await askCiba(http, {
    client_id: 'acme-pinged',
    scope,
    login_hint: people.bob.username,
    binding_message: message,
    client_notification_token: notificationToken,
  });
  expect(answer.status, describeFailure(answer)).toBe(200);
  const { auth_req_id: authReqId, interval } = answer.json();
  const mine = (one: Received): boolean => one.json()['auth_req_id'] === authReqId;
  return {
    authReqId: String(authReqId),
    interval,
    authorization: `Bearer ${notificationToken}`,
    async decide(decision: DecisionWord) {
      const page = await decideCiba(system.person(), decision, message, people.bob);
      expect(page.text).toContain(decision === 'approve' ? 'You approved' : 'You denied');
    },
    callback: () => receiver.got('the client is notified', mine),
    callbacks: () => receiver.received.filter(mine),
  };
}

/** For the tests of one `describe`: a receiver that `acme-pinged` is declared to have, and its starts. */
export function notifiedClients(system: () => System) {
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver();
    await system().apply({ notificationEndpoint: receiver.url });
  });
  afterAll(async () => {
    await system().apply({});
    await receiver.close();
  });
  return {
    receiver: () => receiver,
    start: (scope?: string) => startNotified(system(), receiver, scope),
  };
}
