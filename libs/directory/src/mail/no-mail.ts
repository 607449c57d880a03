import { Code, ConnectError } from '@tessera/rpc';

/** The error of a call that needs mail, where none is sent. */
export function noMail(): ConnectError {
  return new ConnectError('No mail is sent here. Set TESSERA_SMTP_URL.', Code.FailedPrecondition);
}
