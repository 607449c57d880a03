import { createHmac, type KeyObject } from 'node:crypto';
import type { PersonId } from '../ground/person-id.ts';
import { derivedKey } from '../ground/sealing.ts';
import { createTotpSealing } from '../ground/totp-sealing.ts';
import { base32Bytes, type DeclaredTotp, type TotpSettings } from './declared-totp.ts';

/** An authenticator app that is declared for a person. */
export interface NewTotp extends TotpSettings {
  readonly userId: string;
  /** By which the same one is known: a keyed digest, in base64url. */
  readonly declared: string;
  /** The secret, encrypted. */
  readonly sealed: string;
}

/** Reads declared authenticator apps. */
export interface DeclaredTotps {
  /**
   * The app as it is stored.
   * @param before by which the one is known that was declared before; the same one is not sealed again
   */
  of(person: PersonId, totp: DeclaredTotp, before: string | undefined): Promise<NewTotp | undefined>;
}

/** @param pepper of the directory */
export function createDeclaredTotps(pepper: KeyObject): DeclaredTotps {
  const sealing = createTotpSealing(pepper);
  const key = derivedKey(pepper, 'second-factors.declared');
  return {
    async of(person, { secret, ...settings }, before) {
      const { tenantId, userId } = person;
      const bytes = base32Bytes(secret);
      const { algorithm, digits, period } = settings;
      const said = [tenantId, userId, bytes.toString('hex'), algorithm, digits, period];
      const declared = createHmac('sha256', key).update(JSON.stringify(said)).digest('base64url');
      if (declared === before) return undefined;
      return { ...settings, userId, declared, sealed: await sealing.seal(person, bytes) };
    },
  };
}
