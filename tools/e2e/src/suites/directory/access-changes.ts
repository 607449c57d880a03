import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  claimsOf,
  decideCiba,
  decideDevice,
  dialects,
  formRequestId,
  introspect,
  openApprovals,
  openDevice,
  type Person,
  requestIds,
  submitDecision,
  tokensOf,
} from '@tessera/test-client';
import {
  authorizeQuery,
  clientCredentials,
  codeFor,
  expectError,
  redeem,
  refresh,
} from '../../harness/flows.ts';
import { poll, startCiba, startDevice } from '../../harness/out-of-band.ts';
import type { System } from '../../harness/set-up.ts';

const ledger = 'acme-ledger';
const scope = 'openid profile offline_access orders.read';
const asLedger = { client_id: ledger, scope };
const newMessage = (): string => `Ledger ${randomBytes(3).toString('hex')}`;

/** What becomes of people whose roles change, at an application for some roles. */
export function accessChangesSuite(system: () => System): void {
  const parametersOf = (location: string | undefined) =>
    Object.fromEntries(new URL(location ?? '/', system().baseUrl).searchParams);
  /** What the client hears of a person who is signed in by then. */
  async function silently(person: Person, overrides: Record<string, string | undefined> = asLedger) {
    const answer = await person.get(`/authorize?${authorizeQuery({ prompt: 'none', ...overrides })}`);
    return parametersOf(answer.header('location'));
  }

  describe('an application for some roles, when roles change', () => {
    it('serves a person no more, on any path, while they hold none of them, and again once they do (DEV-2)', async () => {
      const { http } = system();
      const person = system().person();
      const tokens = tokensOf(await redeem(http, await codeFor(person, ledger, { scope })));
      const code = await codeFor(person, ledger, { scope });
      const [device, openedDevice] = [await startDevice(http, asLedger), await startDevice(http, asLedger)];
      await decideDevice(person, device.userCode, 'approve');
      const deviceRequest = formRequestId(await openDevice(person, openedDevice.userCode));
      const [message, openMessage] = [newMessage(), newMessage()];
      const authReqId = await startCiba(http, { ...asLedger, binding_message: message });
      await decideCiba(person, 'approve', message);
      const openAuthReqId = await startCiba(http, { ...asLedger, binding_message: openMessage });
      const [cibaRequest = ''] = requestIds(await openApprovals(person), openMessage);
      const userInfo = () =>
        http.ask('GET', '/userinfo', { headers: { authorization: `Bearer ${tokens.accessToken}` } });
      expect((await userInfo()).status).toBe(200);
      await system().apply({ adaRoles: ['manager'] });
      try {
        expect(await silently(person)).toMatchObject({ error: 'access_denied' });
        expect((await openApprovals(person)).text).not.toContain(openMessage);
        await submitDecision(person, '/device', deviceRequest, 'approve');
        await submitDecision(person, '/approvals', cibaRequest, 'approve');
        for (const dialect of dialects) {
          expectError(await redeem(http, code, dialect), 400, 'invalid_grant');
          expectError(await refresh(http, tokens.refreshToken, ledger, dialect), 400, 'invalid_grant');
          const polled = async (flow: 'device' | 'ciba', secret: string) =>
            poll(http, flow, secret, ledger, dialect);
          expectError(await polled('device', device.deviceCode), 400, 'invalid_grant');
          expectError(await polled('ciba', authReqId), 400, 'invalid_grant');
          expectError(await polled('device', openedDevice.deviceCode), 400, 'access_denied');
          expectError(await polled('ciba', openAuthReqId), 400, 'access_denied');
          tokensOf(await clientCredentials(http, ledger, dialect));
        }
        expect(await introspect(http, tokens.refreshToken)).toEqual({ active: false });
        expect(await introspect(http, tokens.accessToken)).toMatchObject({ active: true });
        const forbidden = await userInfo();
        expectError(forbidden, 403, 'insufficient_scope');
        // No other scope would help.
        expect(forbidden.header('www-authenticate')).not.toMatch(/\bscope=/);
        // The policy may follow the person as well as the person the policy.
        await system().apply({ adaRoles: ['manager'], ledgerRoles: ['clerk', 'manager'] });
        expect(await introspect(http, tokens.refreshToken)).toMatchObject({ active: true });
        expect((await userInfo()).status).toBe(200);
        expect(await silently(person)).toHaveProperty('code');
        const answers = [
          await redeem(http, code),
          await refresh(http, tokens.refreshToken, ledger),
          await poll(http, 'device', device.deviceCode, ledger),
          await poll(http, 'ciba', authReqId, ledger),
        ];
        for (const answer of answers) {
          expect(claimsOf(tokensOf(answer).accessToken)).toMatchObject({ role: ['manager'] });
        }
      } finally {
        await system().apply({});
      }
    });
  });
}
