import { OAuthError } from '@tessera/oauth';
import type { AdmittedClient } from '../start/client-admission.ts';
import type { DeliveryMode } from '../pending-grant.ts';

/** CIBA Core §7.1: the syntax of bearer credentials (RFC 6750 §2.1), at most 1024 characters. */
const notificationToken = /^[A-Za-z0-9._~+/-]+=*$/;
const longestNotificationToken = 1024;

/**
 * The delivery mode of a request; undefined if the client polls. Throws `unauthorized_client` if its mode is not available,
 * `invalid_request` for a bad client_notification_token, and `invalid_client` for push without client authentication: a
 * polling client authenticates at /token, but a push client never calls it.
 */
export function requestedMode(
  { application, authenticated }: AdmittedClient,
  request: { readonly clientNotificationToken: string },
  isAvailable: boolean,
): DeliveryMode | undefined {
  const mode = application.ciba?.delivery ?? '';
  if (mode !== 'ping' && mode !== 'push') return undefined;
  if (!isAvailable) {
    throw new OAuthError('unauthorized_client', `Delivery by ${mode} is not available.`);
  }
  if (mode === 'push' && !authenticated) {
    throw new OAuthError('invalid_client', 'Client authentication failed.');
  }
  const { clientNotificationToken: token } = request;
  if (token === '') {
    throw new OAuthError('invalid_request', 'The parameter client_notification_token is missing.');
  }
  if (token.length > longestNotificationToken || !notificationToken.test(token)) {
    const message = 'The client_notification_token must be a bearer token of at most 1024 characters.';
    throw new OAuthError('invalid_request', message);
  }
  return mode;
}
