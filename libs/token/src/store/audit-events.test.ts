import { expect, it } from 'vitest';
import { success } from './audit-events.ts';

it('An audit event names the client and the address only if they are known', () => {
  const trail = { requestId: 'a-request', ipAddress: '192.0.2.7' };
  const event = { event: 'token.revoked', outcome: 'success', grantId: 'g', requestId: 'a-request' };
  expect(success('token.revoked', { grantId: 'g' }, { ...trail, ipAddress: '' })).toEqual(event);
  expect(success('token.revoked', { grantId: 'g', clientId: 'web' }, trail)).toEqual({
    ...event,
    clientId: 'web',
    actor: { type: 'client', id: 'web' },
    ipAddress: '192.0.2.7',
  });
});
