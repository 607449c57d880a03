import type { KeyObject } from 'node:crypto';
import type { Clock, Random } from '@tessera/kit';
import { Code, ConnectError } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import type { PersonId } from '@tessera/directory/ground';
import type { DirectoryStore, FoundUser } from '@tessera/directory/records';
import { findActive } from '../change/may-sign-in.ts';
import type { Announce } from '../mail/announce.ts';
import { createRecoveryKeys } from '../recovery/recovery-keys.ts';
import { createTotpKeys } from './totp-keys.ts';
import { newRecoveryCodes, normalizedRecoveryCode } from '../recovery/recovery-codes.ts';
import { createProposals, spaceless, type Proposals } from './proposals.ts';
import { findTotp, putTotp, useStep } from './totp.postgres.ts';
import { replaceRecoveryCodes, useRecoveryCode } from '../recovery/recovery-codes.postgres.ts';
import type { Origin, SignedInPerson } from '../change/own-change.postgres.ts';
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

/** What a person sends beside the password. */
interface Presented extends Origin {
  readonly code: string;
}

/** The second factors of people: an authenticator app (RFC 6238), and recovery codes for when it is lost. */
export interface SecondFactors extends Proposals {
  /**
   * Enrols the app that is proposed, given its first code. Undefined for a wrong code, for a person who has an app, and
   * for one whose sign-in does not count.
   */
  enrol(presented: SignedInPerson & Presented & { readonly seed: string }): Promise<FoundUser | undefined>;
  /**
   * Judges a code of the app or a recovery code, which it uses up. Undefined if it is wrong or used, or the person may
   * not sign in.
   */
  verify(presented: PersonId & Presented): Promise<FoundUser | undefined>;
  /**
   * New recovery codes in place of all earlier ones. Throws FailedPrecondition for a person without a second factor.
   */
  replaceRecoveryCodes(person: SignedInPerson & Origin): Promise<string[]>;
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

    async enrol({ code, seed, ipAddress, requestId, ...person }) {
      const found = await active(person);
      if (found === undefined) return undefined;
      const secret = keys.proposed(person, seed);
      const step = stepOfCode(secret, spaceless(code), runtime.clock.now());
      if (step === undefined) return undefined;
      const sealed = await keys.seal(person, secret);
      if (!(await putTotp(database, runtime, person, { sealed, step, ipAddress, requestId })))
        return undefined;
      onChange();
      return found;
    },

    async verify({ code, ipAddress, requestId, ...person }) {
      const found = await active(person);
      if (found === undefined) return undefined;
      const digits = spaceless(code);
      if (isTotpCode(digits)) return (await useTotp(person, digits)) ? found : undefined;
      const digest = recoveryKeys.digest(person, normalizedRecoveryCode(code));
      const isUsed = await useRecoveryCode(database, runtime, person, { digest, ipAddress, requestId });
      return isUsed ? found : undefined;
    },

    async replaceRecoveryCodes({ ipAddress, requestId, ...person }) {
      const codes = newRecoveryCodes(runtime.random);
      const digests = codes.map((code) => recoveryKeys.digest(person, code));
      const replaced =
        (await active(person)) !== undefined &&
        (await replaceRecoveryCodes(database, runtime, person, { digests, ipAddress, requestId }));
      if (!replaced) throw new ConnectError('The user has no second factor.', Code.FailedPrecondition);
      return codes;
    },
  };
}
