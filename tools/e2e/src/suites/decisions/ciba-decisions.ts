import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  decideCiba,
  type Dialect,
  dialects,
  fillIn,
  openApprovals,
  requestIds,
  submitDecision,
  tokensOf,
} from '@tessera/test-client';
import { expectError } from '../../harness/flows.ts';
import { askCiba, poll, startCiba } from '../../harness/out-of-band.ts';
import { people } from '../../harness/declared-state.ts';
import type { System } from '../../harness/set-up.ts';

/** Decisions on CIBA requests: who may decide, and what is checked again. */
export function cibaDecisionsSuite(system: () => System): void {
  const desk = 'acme-desk';
  let messages = 0;
  /** A binding message that no other request has. */
  const newMessage = (): string => `decision ${(messages += 1)}.`;
  const pollDesk = async (authReqId: string, dialect: Dialect = 'contract') =>
    poll(system().http, 'ciba', authReqId, desk, dialect);

  describe('a decision on a CIBA request', () => {
    it("shows and lets decide only one's own (CIBA-5)", async () => {
      const { http } = system();
      const message = newMessage();
      const authReqId = await startCiba(http, { binding_message: message });
      const [requestId = ''] = requestIds(await openApprovals(system().person()), message);
      const bob = system().person();
      expect((await openApprovals(bob, people.bob)).text).not.toContain(message);
      const eve = system().person();
      expect((await openApprovals(eve, people.eve)).text).not.toContain(message);
      for (const stranger of [bob, eve]) {
        const answer = await submitDecision(stranger, '/approvals', requestId, 'approve');
        expect(answer.text).toContain('no longer pending');
      }
      expectError(await pollDesk(authReqId), 400, 'authorization_pending');
      await decideCiba(system().person(), 'approve', message);
      tokensOf(await pollDesk(authReqId));
    });

    it('checks person and application again at the approval and at the redemption (CIBA-2)', async () => {
      const { http } = system();
      const bob = system().person();
      const start = async (message: string) =>
        startCiba(http, { binding_message: message, login_hint: people.bob.username });
      const [approved, open] = [await start('approved'), await start('open')];
      await decideCiba(bob, 'approve', 'approved', people.bob);
      const [requestId = ''] = requestIds(await openApprovals(bob, people.bob), 'open');
      await system().apply({ bobStatus: 'locked' });
      try {
        await submitDecision(bob, '/approvals', requestId, 'approve');
        for (const dialect of dialects) {
          expect((await pollDesk(open, dialect)).status).toBe(400);
          expect((await pollDesk(approved, dialect)).status).toBe(400);
        }
        await system().apply({ deskStatus: 'disabled' });
        expectError(await pollDesk(approved), 401, 'invalid_client');
        expectError(await askCiba(http), 401, 'invalid_client');
      } finally {
        await system().apply({});
      }
      expect((await pollDesk(approved)).status).toBe(400);
      await decideCiba(bob, 'deny', 'open', people.bob);
    });

    it('asks who signed in before the application was enabled again to do so again, and takes their approval then (CIBA-2)', async () => {
      const person = system().person();
      const message = newMessage();
      const authReqId = await startCiba(system().http, { binding_message: message });
      const [requestId = ''] = requestIds(await openApprovals(person), message);
      await system().apply({ deskStatus: 'disabled' });
      await system().apply({});
      // Sign-ins are dated in whole seconds, and those up to the one of the change do not count.
      await sleep(2100);
      const asked = await submitDecision(person, '/approvals', requestId, 'approve');
      expect(asked.text).toContain('Confirm that it is you');
      expectError(await pollDesk(authReqId), 400, 'authorization_pending');
      const { username: identifier, password } = people.ada;
      await fillIn(person, asked, 'password', { identifier, password });
      expect((await decideCiba(person, 'approve', message)).text).toContain('You approved the request.');
      await sleep(1000);
      tokensOf(await pollDesk(authReqId));
    });
  });
}
