import type { DirectoryClient } from '@tessera/directory-client';
import type { Random } from '@tessera/kit';
import { credentialOf, hasTwoFactors, resistsPhishing } from '@tessera/oauth';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Client } from '@tessera/rpc';
import type { Step, Verified } from '../../visits/step.ts';
import { passkeyMethod, type LimitGuesses } from '../../limits/guess-limits.ts';
import { ceremonyOf, newCeremony, passkeyMethods } from './ceremony.ts';
import type { PasskeyDomain } from './passkey-domain.ts';

/**
 * A passkey (WebAuthn Level 3), in place of the password or of a code: the fields `passkey`, which is what the browser
 * answered, and `passkey_nonce`. Its page names nobody, as the authenticator finds the passkey, so it is the same for
 * everybody. Due by itself for who must use one, or must use a second factor and has no other.
 */
export function createPasskeyStep(deps: {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly directory: Pick<DirectoryClient, 'user' | 'isActive'>;
  readonly limitGuesses: LimitGuesses;
  readonly passkeyDomain: PasskeyDomain;
  readonly random: Random;
}): Step {
  const { directoryService, directory, limitGuesses, passkeyDomain, random } = deps;

  return {
    name: 'passkey',
    insteadOf: ['password', 'totp'],

    async isDue({ call }, { tenantId, person }, policy) {
      const { needsTwoFactors, needsOwnFactor, needsPhishingResistance } = policy;
      if (!(needsTwoFactors || needsOwnFactor) || person === undefined) return false;
      const { methods } = person;
      if (needsPhishingResistance ? resistsPhishing(methods) : hasTwoFactors(methods)) return false;
      const user = await directory.user(tenantId, person.userId, call.onward());
      if (user?.secondFactors.includes('passkey') !== true) return false;
      return needsPhishingResistance || !user.secondFactors.includes('totp');
    },

    async shown(from, visit) {
      const { tenantId, person } = visit;
      const user = person && (await directory.user(tenantId, person.userId, from.call.onward()));
      if (person !== undefined && user?.secondFactors.includes('passkey') !== true) return {};
      const ceremony = newCeremony(visit, await passkeyDomain(from, visit), 'get', random);
      if (ceremony === undefined) return {};
      const { challenge, rpId, nonce } = ceremony;
      const options = { challenge, rpId, userVerification: 'required', allowCredentials: [] };
      return { passkey_options: JSON.stringify(options), passkey_nonce: nonce };
    },

    async take(from, visit, { clientId }, { passkey: response = '', passkey_nonce: nonce = '' }) {
      const { tenantId, person } = visit;
      const ceremony = ceremonyOf(visit, await passkeyDomain(from, visit), 'get', nonce);
      const credentialId = credentialOf(response);
      if (ceremony === undefined || credentialId === undefined)
        return { outcome: 'refused', problem: 'wrong_passkey' };
      const userId = person?.userId ?? '';
      const presented = { tenantId, userId, ceremony, response, ipAddress: from.browser.ipAddress };

      async function check(): Promise<Verified | undefined> {
        const { user, signedInAtMs, synced } = await directoryService.verifyPasskey(
          presented,
          from.call.onward(),
        );
        if (user?.tenantId !== tenantId || !directory.isActive(user)) return undefined;
        if (userId !== '' && user.userId !== userId) return undefined;
        return {
          outcome: 'verified',
          user,
          signedInAt: Number(signedInAtMs),
          methods: passkeyMethods(synced),
        };
      }

      // Nobody guesses a passkey; the limits keep an address from having signatures checked without end.
      const whom =
        userId === '' ? { identifier: credentialId } : { identifier: userId, factor: passkeyMethod };
      const guess = { tenantId, clientId, method: passkeyMethod, ...whom } as const;
      const whose = async () => (userId === '' ? undefined : { userId, since: '', lockedDownAt: 0n });
      const verified = await limitGuesses(from, guess, { whose, check });
      return verified ?? { outcome: 'refused', problem: 'wrong_passkey' };
    },
  };
}
