import type { DirectoryClient } from '@tessera/directory-client';
import { hasTwoFactors } from '@tessera/oauth';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Client } from '@tessera/rpc';
import type { BrowserCall } from '../../browser-call.ts';
import type { Policy, Step, StepResult, Verified } from '../../visits/step.ts';
import type { Visit } from '../../store/visit-store.ts';
import { factorSince } from '../../limits/guess-counters.ts';
import { codeFactor } from '../../limits/guess-counters.ts';
import type { LimitGuesses } from '../../limits/guess-limits.ts';

/** What a one-time code adds to a sign-in (RFC 8176 §2). */
export const otpMethods = ['otp', 'mfa'] as const;

/**
 * A code of the authenticator app (RFC 6238), or a recovery code: the field `totp_code`. Due for everybody who has an
 * app, unless they have used a passkey.
 */
export function createTotpStep(deps: {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly directory: Pick<DirectoryClient, 'user'>;
  readonly limitGuesses: LimitGuesses;
}): Step {
  const { directory } = deps;
  const takeCode = createTakeCode(deps);

  return {
    name: 'totp',

    async isDue({ call }, { tenantId, person, totpStep }, { needsPhishingResistance }) {
      if (person === undefined || hasTwoFactors(person.methods)) return false;
      // They are about to keep their codes, which enrols this app, or says that another one was enrolled.
      if (totpStep !== undefined) return false;
      const user = await directory.user(tenantId, person.userId, call.onward());
      if (user === undefined) return true;
      // Who must use a passkey is asked for that alone.
      if (needsPhishingResistance && user.secondFactors.includes('passkey')) return false;
      return user.secondFactors.includes('totp');
    },

    shown: () => ({}),

    take: (from, visit, policy, { totp_code: code = '' }) => takeCode(from, visit, policy, code),
  };
}

interface TakeCodeDeps {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly directory: Pick<DirectoryClient, 'user'>;
  readonly limitGuesses: LimitGuesses;
}

/** Judges a code of the app or a recovery code. Guesses at both count together. */
export function createTakeCode({ directoryService, directory, limitGuesses }: TakeCodeDeps) {
  return async (
    from: BrowserCall,
    { tenantId, person }: Visit,
    { clientId }: Policy,
    code: string,
  ): Promise<StepResult> => {
    if (code.trim() === '' || person === undefined) return { outcome: 'refused', problem: 'incomplete' };
    const { userId } = person;

    async function check(): Promise<Verified | undefined> {
      const { ipAddress } = from.browser;
      const presented = { tenantId, userId, code, ipAddress };
      const { user } = await directoryService.verifySecondFactor(presented, from.call.onward());
      if (user?.userId !== userId || user.tenantId !== tenantId) return undefined;
      return { outcome: 'verified', user, signedInAt: undefined, methods: otpMethods };
    }

    const guess = { tenantId, clientId, identifier: userId, factor: codeFactor };
    const whose = async () => {
      const user = await directory.user(tenantId, userId, from.call.onward());
      return { userId, since: factorSince(user), lockedDownAt: user?.lockedDownAt ?? 0n };
    };
    const verified = await limitGuesses(from, guess, { whose, check });
    return verified ?? { outcome: 'refused', problem: 'wrong_code' };
  };
}
