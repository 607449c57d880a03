import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  claimsOf,
  decideCiba,
  decideDevice,
  describeFailure,
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
} from '../harness/flows.ts';
import { askCiba, poll, startCiba, startDevice } from '../harness/out-of-band.ts';
import { people } from '../harness/declared-state.ts';
import type { System } from '../harness/set-up.ts';

const ledger = 'acme-ledger';
const scope = 'openid profile offline_access orders.read';
const asLedger = { client_id: ledger, scope };
const newMessage = (): string => `Ledger ${randomBytes(3).toString('hex')}`;

/** An application for holders of some roles: who holds none of them gets nothing from it, on every path (DEV-2). */
export function accessSuite(system: () => System): void {
  const parametersOf = (location: string | undefined) =>
    Object.fromEntries(new URL(location ?? '/', system().baseUrl).searchParams);

  /** What the client hears of a person who is signed in by then. */
  async function silently(person: Person, overrides: Record<string, string | undefined> = asLedger) {
    const answer = await person.get(`/authorize?${authorizeQuery({ prompt: 'none', ...overrides })}`);
    return parametersOf(answer.header('location'));
  }

  describe('an application for some roles', () => {
    it('hears access_denied of a person without one, who is signed in nevertheless (DEV-2, RFC 6749 §4.1.2.1, RFC 9207)', async () => {
      const denied = { error: 'access_denied', state: 'a-state', iss: system().baseUrl };
      const bob = system().person();
      const answer = await bob.authorize(authorizeQuery(asLedger), people.bob);
      expect(parametersOf(answer.header('location'))).toMatchObject(denied);
      for (const prompt of ['none', undefined]) {
        expect(await silently(bob, { ...asLedger, prompt })).toMatchObject(denied);
      }
      expect(await silently(bob, {})).toHaveProperty('code');
      const ada = tokensOf(await redeem(system().http, await codeFor(system().person(), ledger, { scope })));
      expect(claimsOf(ada.accessToken)).toMatchObject({ client_id: ledger, role: ['clerk'] });
    });

    it.each(dialects)(
      'is not to be approved on a device by a person without one, and the device hears access_denied, in the %s dialect (DEV-2, CVE-2024-38371)',
      async (dialect) => {
        const { http } = system();
        const { deviceCode, userCode } = await startDevice(http, asLedger);
        const done = await decideDevice(system().person(), userCode, 'approve', people.bob);
        expect(done.text).toContain('The request cannot be approved.');
        expectError(await poll(http, 'device', deviceCode, ledger, dialect), 400, 'access_denied');
      },
    );

    it('is answered at the start of CIBA like for anybody else, and who holds no role is not asked (DEV-2)', async () => {
      const { http } = system();
      const message = newMessage();
      const answers = new Set<string>();
      for (const hint of [people.bob.username, people.ada.username, 'nobody-of-that-name']) {
        const answer = await askCiba(http, { ...asLedger, login_hint: hint, binding_message: message });
        expect(answer.status, describeFailure(answer)).toBe(200);
        const { auth_req_id: id, ...rest } = answer.json();
        answers.add(JSON.stringify([rest, String(id).length]));
        expectError(await poll(http, 'ciba', String(id), ledger), 400, 'authorization_pending');
      }
      expect(answers.size).toBe(1);
      expect((await openApprovals(system().person(), people.bob)).text).not.toContain(message);
      await decideCiba(system().person(), 'deny', message);
    });

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
