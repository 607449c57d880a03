import type { KeyObject } from 'node:crypto';
import type { Clock, Random } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import type { PersonId } from '@tessera/directory/ground';
import type { DirectoryStore, FoundUser } from '@tessera/directory/records';
import { findActive } from '../change/may-sign-in.ts';
import type { Announce } from '../mail/announce.ts';
import { createRecoveryKeys } from '../recovery/recovery-keys.ts';
import { createTotpKeys } from './totp-keys.ts';
import { normalizedRecoveryCode } from '../recovery/recovery-codes.ts';
import { createProposals, spaceless, type Proposals } from './proposals.ts';
import { findTotp, useStep } from './totp.postgres.ts';
import { useRecoveryCode } from '../recovery/recovery-codes.postgres.ts';
import type { Origin } from '../change/own-change.postgres.ts';
import { isTotpCode, stepOfCode } from './totp.ts';

export interface SecondFactorsDeps {
  readonly database: Database;
  readonly store: Pick<DirectoryStore, 'findUser'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly announce: Announce;
  /** Pepper of the directory. */
  readonly pepper: KeyObject;
  /** Called after each commit. */
  readonly onChange: () => void;
}

/** The second factors of people: an authenticator app (RFC 6238), and recovery codes for when it is lost. */
export interface SecondFactors extends Proposals {
  /**
   * Judges a code of the app or a recovery code, which it uses up. Undefined if it is wrong or used, or the person may
   * not sign in.
   */
  verify(presented: PersonId & Origin & { readonly code: string }): Promise<FoundUser | undefined>;
}

export function createSecondFactors({
  database,
  store,
  pepper,
  onChange,
  ...runtime
}: SecondFactorsDeps): SecondFactors {
  const keys = createTotpKeys(pepper);
  const recoveryKeys = createRecoveryKeys(pepper);
  const active = async (person: PersonId) => findActive(store, person);

  async function useTotp(person: PersonId, code: string): Promise<boolean> {
    const app = await findTotp(database, person);
    if (app === undefined) return false;
    const { sealed } = app;
    const step = stepOfCode(await keys.open(person, sealed), code, runtime.clock.now(), app);
    return step !== undefined && useStep(database, person, { sealed, step });
  }

  return {
    ...createProposals({ database, runtime, keys, recoveryKeys, active, onChange }),

    async verify({ code, ipAddress, requestId, ...person }) {
      const found = await active(person);
      if (found === undefined) return undefined;
      const digits = spaceless(code);
      if (isTotpCode(digits)) return (await useTotp(person, digits)) ? found : undefined;
      const digest = recoveryKeys.digest(person, normalizedRecoveryCode(code));
      const isUsed = await useRecoveryCode(database, runtime, person, { digest, ipAddress, requestId });
      return isUsed ? found : undefined;
    },
  };
}
