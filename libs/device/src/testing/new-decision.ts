import { AuthenticationSchema } from '@tessera/proto-gen/oauth';
import { create } from '@tessera/rpc';
import { auditRow } from '@tessera/audit';
import { systemClock, systemRandom, ulid } from '@tessera/kit';
import type { Decision } from '../pending-grant.ts';
import type { NewDecision } from '../store/decision-store.ts';

const runtime = { clock: systemClock, random: systemRandom };

/** The decision of a backchannel request whose client is notified. */
export function newDecision(decision: Decision, remainingSeconds = 300): NewDecision {
  return {
    request: {
      kind: 'auth_req_id',
      hash: systemRandom.bytes(32).toString('hex'),
      requestId: systemRandom.bytes(16).toString('base64url'),
      tenantId: 'acme',
      clientId: 'bank',
      scopes: ['openid', 'orders.read'],
      resource: 'https://orders.example',
      issuer: 'https://id.example',
      ipAddress: '192.0.2.1',
      bindingMessage: '',
      authenticated: true,
    },
    decision,
    userId: 'ada',
    sessionId: 'session-1',
    authentication: create(AuthenticationSchema, { time: 1_767_225_600, methods: ['pwd'] }),
    remainingSeconds,
    delivery: {
      deliveryId: ulid(systemClock, systemRandom),
      mode: 'ping',
      sealed: 'sealed',
      trail: { requestId: 'call-1', ipAddress: '192.0.2.7' },
    },
  };
}

/** An audit row like any. */
export const row = (event = 'ciba.notified') =>
  auditRow({ event, outcome: 'success', tenantId: 'acme' }, runtime);
