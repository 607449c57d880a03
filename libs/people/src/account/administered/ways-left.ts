import type { WayIn } from '@tessera/directory/ground';
import { mayResetByMail } from '../../links/reset-requests.ts';

/**
 * What administrators are told of how a person can still get in, once they are active.
 * @param of the person's address, empty without one, and whether this directory sends mail
 */
export function waysLeft(
  ways: readonly WayIn[],
  of: { readonly email: string; readonly sendsMail: boolean },
): string[] {
  const resets = of.sendsMail && of.email !== '' && mayResetByMail(ways);
  return [...ways, ...(resets ? ['password_reset_by_mail'] : [])];
}
