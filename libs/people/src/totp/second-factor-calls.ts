import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Handlers } from '@tessera/rpc';
import { userMessage, type FoundUser } from '@tessera/directory/records';
import type { SecondFactors } from './second-factors.ts';

/** Longer text is no code, and is not looked at. */
const longestCode = 64;

/** The calls of a sign-in. */
export function secondFactorCalls(
  factors: SecondFactors,
): Pick<
  Handlers<typeof DirectoryService>,
  'proposeTotp' | 'verifyProposedTotp' | 'proposeRecoveryCodes' | 'adoptProposal' | 'verifySecondFactor'
> {
  return {
    proposeTotp: async (request) => ({ uri: await factors.propose(request) }),

    async verifyProposedTotp(request) {
      if (request.code.length > longestCode) return {};
      const step = await factors.verifyProposed(request);
      return step === undefined ? {} : { timeStep: BigInt(step) };
    },

    proposeRecoveryCodes: async (request) => ({ codes: await factors.proposeCodes(request) }),

    async adoptProposal({ timeStep, ...request }, { requestId }) {
      const step = timeStep === undefined ? undefined : Number(timeStep);
      const adopted = await factors.adopt({ ...request, step, requestId });
      return adopted === 'superseded' ? { superseded: true } : answerOf(adopted);
    },

    async verifySecondFactor(request, { requestId }) {
      if (request.code.length > longestCode) return {};
      return answerOf(await factors.verify({ ...request, requestId }));
    },
  };
}

function answerOf(found: FoundUser | undefined) {
  return found === undefined ? {} : { user: userMessage(found) };
}
