import * as openid from 'openid-client';
import { describe, expect, it } from 'vitest';
import { decideCiba, type Dialect, dialects } from '@tessera/test-client';
import { expectError } from '../../harness/flows.ts';
import { poll, startCiba } from '../../harness/out-of-band.ts';
import { people, secrets } from '../../harness/declared-state.ts';
import type { System } from '../../harness/set-up.ts';

/** Parallel polls, and polls of a client off the shelf. */
export function cibaPollsSuite(system: () => System): void {
  const desk = 'acme-desk';
  let messages = 0;
  /** A binding message that no other request has. */
  const newMessage = (): string => `polls ${(messages += 1)}.`;
  const pollDesk = async (authReqId: string, dialect: Dialect = 'contract') =>
    poll(system().http, 'ciba', authReqId, desk, dialect);

  describe('the polls of CIBA', () => {
    it('gives twenty parallel polls after the approval one token set', async () => {
      const person = system().person();
      for (let round = 0; round < 5; round += 1) {
        const message = newMessage();
        const authReqId = await startCiba(system().http, { binding_message: message });
        await decideCiba(person, 'approve', message);
        const answers = await Promise.all(
          Array.from({ length: 20 }, async (_value, at) => pollDesk(authReqId, dialects[at % 2])),
        );
        const refused = answers.filter(({ status }) => status === 400);
        expect([answers.filter(({ status }) => status === 200).length, refused.length]).toEqual([1, 19]);
        for (const answer of refused) expectError(answer, 400, 'invalid_grant');
      }
    });

    it('is completed by openid-client, unmodified', async () => {
      const config = await openid.discovery(
        new URL(system().baseUrl),
        desk,
        undefined,
        openid.ClientSecretBasic(secrets.desk),
        { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
      );
      const start = async (message: string) =>
        openid.initiateBackchannelAuthentication(config, {
          scope: 'openid offline_access',
          login_hint: people.ada.username,
          binding_message: message,
        });
      const approving = newMessage();
      const started = await start(approving);
      const [tokens] = await Promise.all([
        openid.pollBackchannelAuthenticationGrant(config, started),
        decideCiba(system().person(), 'approve', approving),
      ]);
      expect(tokens.claims()?.aud).toBe(desk);
      const denying = newMessage();
      const denied = await start(denying);
      await decideCiba(system().person(), 'deny', denying);
      await expect(openid.pollBackchannelAuthenticationGrant(config, denied)).rejects.toMatchObject({
        error: 'access_denied',
      });
    });
  });
}
