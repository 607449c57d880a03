import type { Session } from '../store/session-store.ts';
import type { Purpose } from '../store/visit-store.ts';

/** Purposes that change how a person signs in: an unattended browser must not suffice. */
const sensitive: ReadonlySet<Purpose> = new Set<Purpose>([
  'account_change',
  'add_passkey',
  'add_totp',
  'new_recovery_codes',
]);

/** Whether a visit needs a recent sign-in, with a second factor if the person has one. */
export function isSensitive(purpose: Purpose): boolean {
  return sensitive.has(purpose);
}

/** How many seconds ago a person may have signed in who changes how they do. */
const longestAge = 300;

/** Whether the sign-in of a session is recent enough for such a visit. */
export function isRecent({ authAge }: Pick<Session, 'authAge'>): boolean {
  return authAge <= longestAge;
}
