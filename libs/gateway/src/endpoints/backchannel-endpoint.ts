import { rootCall } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import { hasSecret, requiredCredentials } from './sent-credentials.ts';
import { countStart } from '../http/start-limit.ts';
import type { Endpoint } from './endpoint.ts';

/** `POST /backchannel_authentication` (CIBA Core §7.1 and §7.3). Exactly one hint; `acr_values` is ignored. */
export const backchannelAuthentication: Endpoint = async (request, gateway) => {
  const { incoming, parameters } = request;
  const client = requiredCredentials(request);
  const { method: _, ...credentials } = client;
  if (parameters.get('idTokenHint') !== undefined || parameters.get('loginHintToken') !== undefined) {
    throw new OAuthError('invalid_request', 'The only hint that is supported is login_hint.');
  }
  const requestedExpiry = seconds(parameters.get('requestedExpiry'));
  // The device service counts those with a secret once it is verified.
  if (!hasSecret(client)) await countStart('backchannel_authentication', incoming.ipAddress, gateway);
  const started = await gateway.peers.backchannel.startBackchannelAuthentication(
    {
      caller: incoming.caller(),
      credentials: { ...credentials, attempted: hasSecret(client) },
      scope: parameters.text('scope'),
      loginHint: parameters.text('loginHint'),
      bindingMessage: parameters.text('bindingMessage'),
      resource: parameters.text('resource'),
      requestedExpiry,
      clientNotificationToken: parameters.text('clientNotificationToken'),
    },
    rootCall(incoming.requestId),
  );
  const { authReqId, expiresIn, interval } = started;
  return { auth_req_id: authReqId, expires_in: expiresIn, interval };
};

/** CIBA Core §7.1: a positive integer; 0 when absent. */
function seconds(text: string | undefined): number {
  if (text === undefined) return 0;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new OAuthError('invalid_request', 'The requested expiry must be a positive whole number of seconds.');
}
