import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Client } from '@tessera/rpc';
import type { Step } from '../../interaction/step.ts';

/**
 * Recovery codes for who has just set up an app, or asks for new ones: the field `recovery_codes`, `make` to see new ones and `kept` to go on. They are made when
 * the person asks, and shown once.
 */
export function createRecoveryCodesStep({
  directoryService,
}: {
  readonly directoryService: Client<typeof DirectoryService>;
}): Step {
  return {
    name: 'recovery_codes',

    needsFreshSignIn: true,
    isSetUp: true,

    isDue: (_from, { purpose, person, done }) =>
      (purpose === 'new_recovery_codes' || done.includes('totp_enrolment')) &&
      person !== undefined &&
      !done.includes('recovery_codes'),

    shown: () => ({}),

    async take({ browser, call }, { tenantId, person }, _policy, { recovery_codes: wish }) {
      if (wish === 'kept') return { outcome: 'agreed' };
      const asked = { tenantId, userId: person?.userId ?? '', ipAddress: browser.ipAddress };
      const { codes } = await directoryService.replaceRecoveryCodes(asked, call.onward());
      return { outcome: 'shown', shown: { codes: codes.join(' ') } };
    },
  };
}
