import type { Random } from '@tessera/kit';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Client } from '@tessera/rpc';
import type { Step } from '../../interaction/step.ts';
import { invalidContext } from '../../interaction/visits.ts';
import { ceremonyOf, newCeremony, passkeyMethods } from './ceremony.ts';

/**
 * A new passkey, offered once in a visit to who has just signed in with a password in a browser that can make one: the fields
 * `passkey_created`, which is what the browser answered, and `passkey_nonce`; or `passkey_later`.
 */
export function createPasskeyEnrolmentStep(deps: {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly random: Random;
}): Step {
  const { directoryService, random } = deps;

  return {
    name: 'passkey_enrolment',
    needsFreshSignIn: true,

    isDue: (_from, visit) => {
      const { person, done, makesPasskeys } = visit;
      if (makesPasskeys !== true || person === undefined || person.sessionId !== undefined) return false;
      return (
        !done.includes('passkey_enrolment') &&
        !done.includes('passkey') &&
        ceremonyOf(visit, 'create', '-') !== undefined
      );
    },

    async shown({ call }, visit) {
      const { tenantId, person } = visit;
      const ceremony = newCeremony(visit, 'create', random);
      if (ceremony === undefined || person === undefined) throw invalidContext('nobody can have a passkey');
      const { nonce, ...asked } = ceremony;
      const proposed = { tenantId, userId: person.userId, ceremony: asked };
      const { options } = await directoryService.proposePasskey(proposed, call.onward());
      return { passkey_options: options, passkey_nonce: nonce };
    },

    async take({ browser, call }, visit, _policy, fields) {
      const { passkey_created: response = '', passkey_nonce: nonce = '', passkey_later: later = '' } = fields;
      if (later !== '') return { outcome: 'agreed' };
      const ceremony = ceremonyOf(visit, 'create', nonce);
      const { tenantId, person } = visit;
      if (ceremony === undefined || person === undefined || response === '')
        return { outcome: 'refused', problem: 'no_passkey' };
      const { user, synced } = await directoryService.enrolPasskey(
        { tenantId, userId: person.userId, ceremony, response, ipAddress: browser.ipAddress },
        call.onward(),
      );
      if (user === undefined) return { outcome: 'refused', problem: 'no_passkey' };
      return { outcome: 'verified', user, signedInAt: undefined, methods: passkeyMethods(synced) };
    },
  };
}
