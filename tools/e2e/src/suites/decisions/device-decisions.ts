import { describe, expect, it } from 'vitest';
import {
  decideDevice,
  describeFailure,
  fillIn,
  formRequestId,
  openDevice,
  submitDecision,
  tokensOf,
} from '@tessera/test-client';
import { expectError } from '../../harness/flows.ts';
import { poll, startDevice } from '../../harness/out-of-band.ts';
import { people } from '../../harness/declared-state.ts';
import type { System } from '../../harness/set-up.ts';

/** Decisions on device requests: who may decide, and what others see. */
export function deviceDecisionsSuite(system: () => System): void {
  const tv = 'acme-tv';
  const pollTv = async (deviceCode: string) => poll(system().http, 'device', deviceCode, tv);

  describe('a decision on a device request', () => {
    async function openGlobex(person: ReturnType<System['person']>): Promise<void> {
      const page = await person.get('/approvals?tenant=globex');
      const { username: identifier, password } = people.eve;
      const answer = await fillIn(person, page, 'password', { identifier, password });
      expect(answer.text).toContain('Nothing is waiting');
    }

    it('lets one of two opposite decisions stand, for good', async () => {
      const { http } = system();
      const person = system().person();
      for (let round = 0; round < 5; round += 1) {
        const { deviceCode, userCode } = await startDevice(http);
        const requestId = formRequestId(await openDevice(person, userCode));
        await Promise.all(
          (['approve', 'deny'] as const).map(async (decision) =>
            submitDecision(person, '/device', requestId, decision),
          ),
        );
        const first = await pollTv(deviceCode);
        const second = await pollTv(deviceCode);
        const ends = [describeFailure(first), describeFailure(second)].map((text) => text.split(':')[0]);
        expect([
          'status 400, access_denied|status 400, access_denied',
          'an answer with status 200|status 400, invalid_grant',
        ]).toContain(ends.join('|'));
      }
    });

    it("refuses another person's and another session's decision (DEV-3)", async () => {
      const { http } = system();
      const [ada, elsewhere, bob] = [system().person(), system().person(), system().person()];
      const { deviceCode, userCode } = await startDevice(http);
      const requestId = formRequestId(await openDevice(ada, userCode));
      // Signed in, with a form field that is good in their own browser, and with the number of the request.
      const bobs = await openDevice(bob, userCode, people.bob);
      expect([bobs.status, bobs.text.includes('Acme TV')]).toEqual([400, false]);
      await openDevice(elsewhere, (await startDevice(http)).userCode);
      for (const stranger of [bob, elsewhere]) {
        const answer = await submitDecision(stranger, '/device', requestId, 'approve');
        expect(answer.text).toContain('no longer pending');
      }
      expectError(await pollTv(deviceCode), 400, 'authorization_pending');
      expect((await submitDecision(ada, '/device', requestId, 'approve')).text).toContain('Device connected');
      tokensOf(await pollTv(deviceCode));
    });

    it("shows another tenant's person nothing, and serves the own one after signing out", async () => {
      const { http } = system();
      const person = system().person();
      await openDevice(person, (await startDevice(http)).userCode, people.ada);
      await person.get('/logout');
      const { deviceCode, userCode } = await startDevice(http);
      // Eve's password is none of this tenant's.
      const eve = await openDevice(person, userCode, people.eve);
      expect(eve.status).toBe(401);
      await openGlobex(person);
      const page = await openDevice(person, userCode);
      expect([page.status, page.text.includes('Acme')]).toEqual([400, false]);
      const again = await fillIn(person, page, 'going', {});
      expect(again.text).toContain(userCode);
      expect((await decideDevice(person, userCode, 'approve')).text).toContain('Device connected');
      tokensOf(await pollTv(deviceCode));
    });

    it('locks a session that guesses codes (DEV-7)', async () => {
      const { userCode } = await startDevice(system().http);
      const person = system().person();
      await openDevice(person, userCode);
      const statuses: number[] = [];
      for (let guess = 0; guess < 6; guess += 1) {
        statuses.push((await openDevice(person, `BBBB-BBB${'BCDFGH'[guess]}`)).status);
      }
      expect(statuses).toEqual([400, 400, 400, 400, 400, 429]);
      // Not even the right one is looked up now.
      expect((await openDevice(person, userCode)).status).toBe(429);
    });
  });
}
