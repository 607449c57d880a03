import { Code, ConnectError } from '@connectrpc/connect';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { fieldViolations } from './field-violations.ts';

/** A peer of another version does not have the method that it was asked. */
class NotOffered extends Error {
  override readonly name = 'NotOffered';
}

/** A peer of another version says what this one does not know. */
class NotUnderstood extends Error {
  override readonly name = 'NotUnderstood';
}

/**
 * The error for a method that a peer does not have: `temporarily_unavailable`, as the upgrade that is under way ends
 * it.
 */
export function notOffered(method: string): OAuthError {
  return temporarilyUnavailable(new NotOffered(`${method} is not known to the process that was asked`));
}

/**
 * The error for what a process of another version sent, and this one does not know, such as a case of a `oneof` or a
 * value of an `enum`: `temporarily_unavailable`. It is never read as something that is known.
 * @param what for the log
 */
export function notUnderstood(what: string, cause?: unknown): OAuthError {
  return temporarilyUnavailable(new NotUnderstood(`not known to this version: ${what}`, { cause }));
}

/** Reads what a store holds. A record that cannot be read was written by another version, so it is `notUnderstood`. */
export function readStored<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw notUnderstood(`${what} as it is stored`, error);
  }
}

/**
 * The answer of a peer, or of the administration API, or what stands for it where that is of an earlier version and
 * does not have the method. Only for what lets nobody do more when it is missing; the absence of what restricts is an
 * error, so it is not caught.
 */
export async function whereOffered<T, A>(answer: Promise<T>, absent: () => A | Promise<A>): Promise<T | A> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof OAuthError && error.cause instanceof NotOffered) return absent();
    // Clients of our own never see this code: it is that of other clients, of the administration API.
    if (error instanceof ConnectError && error.code === Code.Unimplemented) return absent();
    throw error;
  }
}

/**
 * The error for a call that a peer refuses as it stands, although we made it ourselves: it asks for other fields, or
 * admits other callers, than this version expects. Undefined for any other error.
 */
export function refusedByPeer(error: unknown): OAuthError | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  const isMessage = error.code === Code.InvalidArgument && fieldViolations(error).length === 0;
  return isMessage || error.code === Code.PermissionDenied ? temporarilyUnavailable(error) : undefined;
}
