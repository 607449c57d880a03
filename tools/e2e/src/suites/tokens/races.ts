import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { introspect, revoke, tokensOf } from '@tessera/test-client';
import { codeFor, redeem, refresh } from '../../harness/flows.ts';

const parallel = 50;

/** One-time values under real concurrency on real stores. `rounds` is lower where it only proves the topology. */
export function racesSuite(system: () => System, rounds: number): void {
  const many = async <T>(work: () => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: parallel }, work));

  describe('races', () => {
    it(`lets exactly one of ${parallel} parallel redemptions of a code through, ${rounds} rounds (RFC 6749 section 4.1.2)`, async () => {
      const { http } = system();
      const person = system().person();
      for (let round = 0; round < rounds; round += 1) {
        const code = await codeFor(person);
        const answers = await many(async () => redeem(http, code));
        const good = answers.filter((answer) => answer.status === 200);
        const refused = answers.filter(
          (answer) => answer.status === 400 && answer.json()['error'] === 'invalid_grant',
        );
        const statuses = answers.map((answer) => answer.status).join(' ');
        expect([good.length, refused.length], `round ${round}: ${statuses}`).toEqual([1, parallel - 1]);
        if (round % 10 === 0) {
          for (const answer of good) {
            const { accessToken, refreshToken: revoked } = tokensOf(answer);
            expect(await introspect(http, revoked)).toEqual({ active: false });
            await expect
              .poll(() => introspect(http, accessToken), { timeout: 30_000 })
              .toEqual({ active: false });
          }
        }
      }
    });

    it(`gives ${parallel} parallel refreshes with one token one successor, ${Math.ceil(rounds / 4)} rounds`, async () => {
      const { http } = system();
      let { refreshToken } = tokensOf(await redeem(http, await codeFor(system().person())));
      for (let round = 0; round < Math.ceil(rounds / 4); round += 1) {
        const current = refreshToken;
        const answers = await many(async () => refresh(http, current));
        const successors = new Set(answers.map((answer) => tokensOf(answer).refreshToken));
        expect(successors.size, `round ${round}`).toBe(1);
        refreshToken = [...successors][0];
      }
      expect(await introspect(http, refreshToken)).toMatchObject({ active: true });
    });

    it('lets nothing of a family work after the 200 of a racing revocation (security case REF-5)', async () => {
      const { http } = system();
      const person = system().person();
      for (let round = 0; round < Math.ceil(rounds / 10); round += 1) {
        const { refreshToken } = tokensOf(await redeem(http, await codeFor(person)));
        const known = new Set<string | undefined>([refreshToken]);
        const refreshing = Array.from({ length: 8 }, async () => {
          const answer = await refresh(http, refreshToken);
          if (answer.status === 200) known.add(tokensOf(answer).refreshToken);
        });
        const revoked = await revoke(http, refreshToken, 'race');
        expect(revoked.status).toBe(200);
        await Promise.all(refreshing);
        for (const token of known) {
          expect((await refresh(http, token)).status, `round ${round}`).toBe(400);
          expect(await introspect(http, token)).toEqual({ active: false });
        }
      }
    });
  });
}
