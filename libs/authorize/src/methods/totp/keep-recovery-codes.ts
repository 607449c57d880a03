import { opaqueValue, type Random } from '@tessera/kit';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Client } from '@tessera/rpc';
import type { Step } from '../../visits/step.ts';
import { askingInVisit } from '../../visits/asking-person.ts';
import { invalidContext } from '../../visits/visits.ts';
import { otpMethods } from './one-time-code.ts';
import { enrolling } from './totp-enrolment.ts';

/**
 * Recovery codes for who sets up an app, or asks for new ones: the field `recovery_codes`, `kept` once the person has
 * saved them. The page shows codes that are not valid yet; `kept` makes them valid, and enrols the app, in one commit.
 */
export function createRecoveryCodesStep(deps: {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly random: Random;
}): Step {
  const { directoryService, random } = deps;

  return {
    name: 'recovery_codes',

    needsFreshSignIn: true,
    isSetUp: true,

    isDue: (_from, { purpose, person, totpStep, done }) =>
      (purpose === 'new_recovery_codes' || totpStep !== undefined) &&
      person !== undefined &&
      !done.includes('recovery_codes'),

    async shown({ call }, visit) {
      const { codes } = await directoryService.proposeRecoveryCodes(enrolling(visit), call.onward());
      return { codes: codes.join(' '), ...(visit.totpStep !== undefined && { enrols: 'totp' }) };
    },

    async take(from, visit, _policy, { recovery_codes: wish }) {
      if (wish !== 'kept') return { outcome: 'refused', problem: '' };
      const { totpStep } = visit;
      const adopted = await directoryService.adoptProposal(
        {
          ...enrolling(visit),
          ...askingInVisit(from, visit),
          ...(totpStep !== undefined && { timeStep: BigInt(totpStep) }),
        },
        from.call.onward(),
      );
      if (adopted.superseded) {
        const anew = { ...visit, seed: opaqueValue('', random, 16), totpStep: undefined };
        const problem = totpStep === undefined ? 'other_codes' : 'other_app';
        return { outcome: 'changed', visit: anew, problem };
      }
      const { user } = adopted;
      if (user === undefined) throw invalidContext('the person may not have recovery codes');
      return totpStep === undefined
        ? { outcome: 'agreed' }
        : { outcome: 'verified', user, signedInAt: undefined, methods: otpMethods };
    },
  };
}
