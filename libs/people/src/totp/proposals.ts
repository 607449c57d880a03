import type { Database } from '@tessera/stores';
import { notFound, type PersonId } from '@tessera/directory/ground';
import type { FoundUser } from '@tessera/directory/records';
import type { ChangeRuntime } from '../mail/announce.ts';
import { adoptProposal } from './adopt-proposal.postgres.ts';
import type { RecoveryKeys } from '../recovery/recovery-keys.ts';
import type { TotpKeys } from './totp-keys.ts';
import { findTotp } from './totp.postgres.ts';
import type { Origin, SignedInPerson } from '../change/own-change.postgres.ts';
import { stepOfCode, totpUri } from './totp.ts';

/**
 * An app and recovery codes that a page shows, derived from its seed: nothing is stored before the person keeps them.
 */
export interface Proposals {
  /**
   * The `otpauth` address of an app that is not enrolled; the same for the same seed. Throws NotFound for a person who
   * may not sign in.
   */
  propose(person: PersonId & { readonly seed: string }): Promise<string>;
  /**
   * The time step of the first code of that app. Undefined for a wrong code, and for a person who has an app or may not
   * sign in.
   */
  verifyProposed(
    presented: PersonId & { readonly seed: string; readonly code: string },
  ): Promise<number | undefined>;
  /** Recovery codes that are not valid yet; the same for the same seed. Throws NotFound as `propose` does. */
  proposeCodes(person: PersonId & { readonly seed: string }): Promise<string[]>;
  /**
   * Makes those codes valid in place of all earlier ones and, with the time step of its first code, enrols that app, in
   * one commit. Once for a seed: repeated, it answers the same. `superseded` if another app was enrolled, or other
   * codes took their place; undefined for a person whose sign-in does not count, or who would have codes alone.
   */
  adopt(
    proposal: SignedInPerson & Origin & { readonly seed: string; readonly step: number | undefined },
  ): Promise<FoundUser | 'superseded' | undefined>;
}

export function createProposals(deps: {
  readonly database: Database;
  readonly runtime: ChangeRuntime;
  readonly keys: TotpKeys;
  readonly recoveryKeys: RecoveryKeys;
  /** Undefined for a person who may not sign in. */
  readonly active: (person: PersonId) => Promise<FoundUser | undefined>;
  readonly onChange: () => void;
}): Proposals {
  const { database, runtime, keys, recoveryKeys, active, onChange } = deps;

  return {
    async propose(person) {
      const found = await active(person);
      if (found === undefined) throw notFound('The user');
      const shown = { tenant: found.tenant.name, account: found.user.username };
      return totpUri(keys.proposed(person, person.seed), shown);
    },

    async verifyProposed({ code, seed, ...person }) {
      if ((await active(person)) === undefined) return undefined;
      const step = stepOfCode(keys.proposed(person, seed), spaceless(code), runtime.clock.now());
      return (await findTotp(database, person)) === undefined ? step : undefined;
    },

    async proposeCodes(person) {
      if ((await active(person)) === undefined) throw notFound('The user');
      return recoveryKeys.proposed(person, person.seed);
    },

    async adopt({ tenantId, userId, authTime, seed, step, ipAddress, requestId }) {
      const person = { tenantId, userId, authTime };
      const found = await active(person);
      if (found === undefined) return undefined;
      const secret = keys.proposed(person, seed);
      const proposal = {
        seed,
        digests: recoveryKeys.proposed(person, seed).map((code) => recoveryKeys.digest(person, code)),
        totp: step === undefined ? undefined : { step, sealed: await keys.seal(person, secret) },
        isSealed: async (sealed: string) => secret.equals(await keys.open(person, sealed)),
      };
      const adopted = await adoptProposal(database, runtime, person, { ...proposal, ipAddress, requestId });
      if (adopted === 'adopted') onChange();
      if (adopted === 'superseded') return adopted;
      return adopted === 'refused' ? undefined : found;
    },
  };
}

/** Apps show `123 456`. */
export function spaceless(code: string): string {
  return code.replaceAll(/\s/g, '');
}
