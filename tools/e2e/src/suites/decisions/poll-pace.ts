import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Answer, decideCiba, type Dialect, dialects } from '@tessera/test-client';
import { people } from '../../harness/declared-state.ts';
import { expectError } from '../../harness/flows.ts';
import { poll, startCiba, startDevice } from '../../harness/out-of-band.ts';
import type { System } from '../../harness/set-up.ts';

/** The interval of a client that polled too fast once: that of the set-up, and five seconds (RFC 8628 section 3.5). */
const slowedMs = 6_100;

interface Slowed {
  readonly poll: () => Promise<Answer>;
  readonly at: number;
}

/**
 * Clients that poll too fast, in two parts: other suites run while the first one's clients wait.
 *
 *     slows()     polls too fast; slow_down
 *     recovers()  polls at the new interval; authorization_pending
 */
export function pollPaceSuites(system: () => System) {
  const slowed: Slowed[] = [];

  async function slowDown(ask: Slowed['poll']): Promise<void> {
    expectError(await ask(), 400, 'authorization_pending');
    // A machine may be so busy that the interval passes between two polls.
    let answer = await ask();
    for (; answer.json()['error'] === 'authorization_pending'; answer = await ask());
    expectError(answer, 400, 'slow_down');
    slowed.push({ poll: ask, at: performance.now() });
  }

  const clients = dialects.flatMap((dialect) => [['device', dialect] as const, ['ciba', dialect] as const]);

  /** The polls of a new request, which nobody else in these suites decides. */
  async function started(flow: 'device' | 'ciba', dialect: Dialect): Promise<Slowed['poll']> {
    const { http } = system();
    if (flow === 'device') {
      const { deviceCode } = await startDevice(http);
      return () => poll(http, flow, deviceCode, 'acme-tv', dialect);
    }
    const authReqId = await startCiba(http, { login_hint: people.cleo.username });
    return () => poll(http, flow, authReqId, 'acme-desk', dialect);
  }

  return {
    slows() {
      it.each(clients)(
        'slows a %s client down that polls too fast (RFC 8628 section 3.5, CIBA Core section 7.3, DEV-9), in the %s dialect',
        async (flow, dialect) => {
          await slowDown(await started(flow, dialect));
        },
      );
    },
    recovers() {
      describe('a client that was slowed down', () => {
        it('recovers when it polls at its new interval (DEV-9)', async () => {
          expect(slowed).toHaveLength(clients.length);
          for (const { poll: ask, at } of slowed) {
            await sleep(Math.max(0, at + slowedMs - performance.now()));
            expectError(await ask(), 400, 'authorization_pending');
          }
          for (const _dialect of dialects)
            await decideCiba(system().person(), 'deny', undefined, people.cleo);
        });
      });
    },
  };
}
