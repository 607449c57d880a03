import type { DirectoryClient } from '@tessera/directory-client';
import { hasTwoFactors } from '@tessera/oauth';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Client } from '@tessera/rpc';
import { invalidContext } from '../../visits/visits.ts';
import type { Step } from '../../visits/step.ts';
import type { KnownPerson, Visit } from '../../store/visit-store.ts';

/**
 * The first code of a person's new authenticator app: the field `enrolment_code`. The app is enrolled together with its
 * recovery codes, by the step after this one. Due where one factor is not enough, but any second is, and in a visit
 * that adds one.
 */
export function createTotpEnrolmentStep(deps: {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly directory: Pick<DirectoryClient, 'user'>;
}): Step {
  const { directoryService, directory } = deps;

  return {
    name: 'totp_enrolment',
    needsFreshSignIn: true,
    isSetUp: true,

    async isDue({ call }, { purpose, tenantId, person, totpStep }, policy) {
      if (person === undefined || totpStep !== undefined) return false;
      const isMissing =
        policy.needsTwoFactors && !policy.needsPhishingResistance && !hasTwoFactors(person.methods);
      if (!isMissing && purpose !== 'add_totp') return false;
      const user = await directory.user(tenantId, person.userId, call.onward());
      return user !== undefined && !user.secondFactors.includes('totp');
    },

    async shown({ call }, visit) {
      const { uri } = await directoryService.proposeTotp(enrolling(visit), call.onward());
      return { uri, ...(visit.purpose === 'add_totp' && { totp_asked: 'yes' }) };
    },

    async take({ call }, visit, _policy, { enrolment_code: code = '' }) {
      if (code.trim() === '') return { outcome: 'refused', problem: 'incomplete' };
      const proposed = { ...enrolling(visit), code };
      const { timeStep } = await directoryService.verifyProposedTotp(proposed, call.onward());
      if (timeStep === undefined) return { outcome: 'refused', problem: 'wrong_code' };
      return { outcome: 'checked', learned: { totpStep: Number(timeStep) } };
    },
  };
}

/** The person of a visit and the seed of their secret and codes. The page of another visit does not reveal them. */
export function enrolling({ tenantId, person, seed }: Visit): {
  tenantId: string;
  userId: string;
  seed: string;
} {
  const { userId }: Partial<KnownPerson> = person ?? {};
  if (userId === undefined) throw invalidContext('nobody is known');
  return { tenantId, userId, seed };
}
