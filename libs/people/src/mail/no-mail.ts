import { Code, ConnectError } from '@tessera/rpc';
import type { Outbox } from './outbox.ts';

/** The error of a call that needs mail, where none is sent. */
export function noMail(): ConnectError {
  return new ConnectError('No mail is sent here. Set TESSERA_SMTP_URL.', Code.FailedPrecondition);
}

/** Throws FailedPrecondition if no link can be mailed to somebody with this e-mail address. */
export function requireMail(outbox: Outbox | undefined, email: string): void {
  if (outbox === undefined) throw noMail();
  if (email === '') throw new ConnectError('The user has no e-mail address.', Code.FailedPrecondition);
}
