import type { TenantRecord } from '../tenants/fields.ts';
import type { UserRecord } from './fields.ts';

export interface FoundUser {
  readonly user: UserRecord;
  /** The last change of the user's data; seconds since the Unix epoch. */
  readonly updatedAt: number;
  readonly tenant: TenantRecord;
  /** Earlier sign-ins are invalid, because of the user or the tenant; seconds since the Unix epoch. */
  readonly validFrom: number;
  /** How the person signs in beyond the password: `totp`, `passkey`. */
  readonly secondFactors: readonly string[];
  /** When an administrator last ended the lock after too many guesses, in milliseconds; 0 for never. */
  readonly unlockedAt: number;
  /** From when sign-ins counted after the last lockdown; seconds since the Unix epoch, 0 for never. */
  readonly lockedDownAt: number;
}

/**
 * Where in the order of user IDs a stand-in is looked for: those that are made here, and those that people were given,
 * which mostly are hexadecimal, stand apart.
 */
export interface StandInPosition {
  readonly made: string;
  readonly given: string;
  /** Whether it is first looked for among those that were given. */
  readonly prefersGiven: boolean;
}

/** What a sign-in by password is checked against. */
export interface FoundForPassword {
  /** Undefined if nobody has the identifier. */
  readonly found: FoundUser | undefined;
  /**
   * A password hash of the tenant: of the user whose ID follows a position, or of the first one; undefined without any.
   */
  readonly standIn: string | undefined;
}
