import type { Step } from '../../visits/step.ts';
import { createTakeCode } from './one-time-code.ts';

/**
 * A recovery code in place of a passkey that is lost: the field `recovery_code`. Nobody must take it, and it does not
 * help where phishing must be resisted.
 */
export function createRecoveryCodeStep(deps: Parameters<typeof createTakeCode>[0]): Step {
  const takeCode = createTakeCode(deps);

  return {
    name: 'recovery_code',
    insteadOf: ['passkey'],

    isDue: () => false,

    shown: (_from, _visit, { needsPhishingResistance }) =>
      needsPhishingResistance ? {} : { recovery: 'yes' },

    take: async (from, visit, policy, { recovery_code: code = '' }) =>
      policy.needsPhishingResistance
        ? { outcome: 'refused', problem: 'wrong_code' }
        : takeCode(from, visit, policy, code),
  };
}
