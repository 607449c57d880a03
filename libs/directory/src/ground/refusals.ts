import type { AuditEvent } from '@tessera/audit';
import { Code, ConnectError } from '@tessera/rpc';

/** Throws Aborted if a record has another version than the one that is expected, unless that is empty. */
export function refuseOtherVersion(what: string, expected: string, present: string): void {
  if (expected === '' || expected === present) return;
  throw new ConnectError(`${what} has changed since it was read. Read it again.`, Code.Aborted);
}

/** The same message for a missing record and for one of another tenant. */
export function notFound(what: string): ConnectError {
  return new ConnectError(`${what} is not known.`, Code.NotFound);
}

/**
 * Throws FailedPrecondition for an administrator who helps themselves to a way in, for a token that was stolen for
 * minutes would become the account, or who shuts themselves out by mistake.
 * @param deed what they cannot do, such as "lock yourself down"
 * @param remedy what they do in its place at the account page; nothing unless given
 */
export function refuseSelf(
  { actor }: Pick<AuditEvent, 'actor'>,
  userId: string,
  { deed, remedy }: { readonly deed: string; readonly remedy?: string },
): void {
  if (actor?.type !== 'user' || actor.id !== userId) return;
  const inPlace =
    remedy === undefined
      ? 'Ask another administrator.'
      : `${remedy} at the account page, or ask another administrator.`;
  throw new ConnectError(`You cannot ${deed}. ${inPlace}`, Code.FailedPrecondition);
}
