import type { DirectoryClient } from '@tessera/directory-client';
import { hasTwoFactors } from '@tessera/oauth';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Client } from '@tessera/rpc';
import { invalidContext } from '../../interaction/visits.ts';
import type { Step } from '../../interaction/step.ts';
import type { KnownPerson, Visit } from '../../store/store.ts';
import { otpMethods } from './one-time-code.ts';

/** A person's authenticator app, set up with its first code: the field `enrolment_code`. Due where one factor is not enough, but any second is, and in a visit that adds one. */
export function createTotpEnrolmentStep(deps: {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly directory: Pick<DirectoryClient, 'user'>;
}): Step {
  const { directoryService, directory } = deps;

  return {
    name: 'totp_enrolment',
    needsFreshSignIn: true,
    isSetUp: true,

    async isDue({ call }, { purpose, tenantId, person, done }, policy) {
      if (person === undefined || done.includes('totp_enrolment')) return false;
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

    async take({ browser, call }, visit, _policy, { enrolment_code: code = '' }) {
      if (code.trim() === '') return { outcome: 'refused', problem: 'incomplete' };
      const { ipAddress } = browser;
      const { user } = await directoryService.enrolTotp(
        { ...enrolling(visit), code, ipAddress },
        call.onward(),
      );
      if (user === undefined) return { outcome: 'refused', problem: 'wrong_code' };
      return { outcome: 'verified', user, signedInAt: undefined, methods: otpMethods };
    },
  };
}

/** The person of a visit and the seed of their secret. The page of another visit does not reveal it. */
function enrolling({ tenantId, person, seed = '' }: Visit): {
  tenantId: string;
  userId: string;
  seed: string;
} {
  const { userId }: Partial<KnownPerson> = person ?? {};
  if (userId === undefined || seed === '') throw invalidContext('the visit has no seed');
  return { tenantId, userId, seed };
}
