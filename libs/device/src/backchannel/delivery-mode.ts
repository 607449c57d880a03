import { OAuthError } from '@tessera/oauth';
import type { AdmittedClient } from '../start/client-admission.ts';

/** CIBA Core §7.1: the syntax of bearer credentials (RFC 6750 §2.1), at most 1024 characters. */
const notificationToken = /^[A-Za-z0-9._~+/-]+=*$/;
const longestNotificationToken = 1024;

/**
 * Whether the client of a request is pinged. Throws `unauthorized_client` if pings are not available, and
 * `invalid_request` for a bad client_notification_token.
 */
export function isPinged(
  { application }: Pick<AdmittedClient, 'application'>,
  { clientNotificationToken: token }: { readonly clientNotificationToken: string },
  isAvailable: boolean,
): boolean {
  if (application.ciba?.delivery !== 'ping') return false;
  if (!isAvailable) throw new OAuthError('unauthorized_client', 'Delivery by ping is not available.');
  if (token === '') {
    throw new OAuthError('invalid_request', 'The parameter client_notification_token is missing.');
  }
  if (token.length > longestNotificationToken || !notificationToken.test(token)) {
    const message = 'The client_notification_token must be a bearer token of at most 1024 characters.';
    throw new OAuthError('invalid_request', message);
  }
  return true;
}
