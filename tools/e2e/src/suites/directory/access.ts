import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  claimsOf,
  decideCiba,
  decideDevice,
  describeFailure,
  dialects,
  openApprovals,
  type Person,
  tokensOf,
} from '@tessera/test-client';
import { authorizeQuery, codeFor, expectError, redeem } from '../../harness/flows.ts';
import { askCiba, poll, startDevice } from '../../harness/out-of-band.ts';
import { people } from '../../harness/declared-state.ts';
import type { System } from '../../harness/set-up.ts';

const ledger = 'acme-ledger';
const scope = 'openid profile offline_access orders.read';
const asLedger = { client_id: ledger, scope };
const newMessage = (): string => `Ledger ${randomBytes(3).toString('hex')}`;

/** Applications that only some roles may use. */
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
  });
}
