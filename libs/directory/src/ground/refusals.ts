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
