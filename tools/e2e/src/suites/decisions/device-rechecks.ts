import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  decideDevice,
  dialects,
  fillIn,
  formRequestId,
  openDevice,
  submitDecision,
  tokensOf,
} from '@tessera/test-client';
import { expectError } from '../../harness/flows.ts';
import { askDevice, poll, startDevice } from '../../harness/out-of-band.ts';
import { people } from '../../harness/declared-state.ts';
import type { System } from '../../harness/set-up.ts';

/** Decisions on device requests of people and applications that change meanwhile. */
export function deviceRechecksSuite(system: () => System): void {
  const tv = 'acme-tv';
  const pollTv = async (deviceCode: string, dialect: (typeof dialects)[number] = 'contract') =>
    poll(system().http, 'device', deviceCode, tv, dialect);

  describe('a decision on a device request', () => {
    it('checks person and application again at the approval and at the redemption (DEV-6)', async () => {
      const { http } = system();
      const bob = system().person();
      const [open, approved, ofTv] = [
        await startDevice(http),
        await startDevice(http),
        await startDevice(http),
      ];
      await decideDevice(bob, approved.userCode, 'approve', people.bob);
      await decideDevice(system().person(), ofTv.userCode, 'approve');
      const requestId = formRequestId(await openDevice(bob, open.userCode, people.bob));
      await system().apply({ bobStatus: 'locked' });
      try {
        await submitDecision(bob, '/device', requestId, 'approve');
        for (const dialect of dialects) {
          expect((await pollTv(open.deviceCode, dialect)).status).toBe(400);
          expect((await pollTv(approved.deviceCode, dialect)).status).toBe(400);
        }
        await system().apply({ tvStatus: 'disabled' });
        expectError(await pollTv(ofTv.deviceCode), 401, 'invalid_client');
        expectError(await askDevice(http), 401, 'invalid_client');
      } finally {
        await system().apply({});
      }
      expect((await pollTv(ofTv.deviceCode)).status).toBe(400);
    });

    it('asks who signed in before the application was enabled again to do so again, and takes their approval then (DEV-2)', async () => {
      const person = system().person();
      const { deviceCode, userCode } = await startDevice(system().http);
      const page = await openDevice(person, userCode);
      await system().apply({ tvStatus: 'disabled' });
      await system().apply({});
      // Sign-ins are dated in whole seconds, and those up to the one of the change do not count.
      await sleep(2100);
      const asked = await fillIn(person, page, 'request', { decision: 'approve' });
      expect(asked.text).toContain('Confirm that it is you');
      expectError(await pollTv(deviceCode), 400, 'authorization_pending');
      const { username: identifier, password } = people.ada;
      const again = await fillIn(person, asked, 'password', { identifier, password });
      const done = await fillIn(person, again, 'request', { decision: 'approve' });
      expect(done.text).toContain('Device connected');
      await sleep(1000);
      tokensOf(await pollTv(deviceCode));
    });
  });
}
