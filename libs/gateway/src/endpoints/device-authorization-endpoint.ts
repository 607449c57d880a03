import { rootCall } from '@tessera/rpc';
import { hasSecret, requiredCredentials } from './sent-credentials.ts';
import { countStart } from '../http/start-limit.ts';
import type { Endpoint } from './endpoint.ts';

/** `POST /device_authorization` (RFC 8628 §3.1 and §3.2). */
export const deviceAuthorization: Endpoint = async (request, gateway) => {
  const { incoming, parameters } = request;
  const client = requiredCredentials(request);
  const { method: _, ...credentials } = client;
  const caller = incoming.caller();
  // The device service counts those with a secret once it is verified.
  if (!hasSecret(client)) await countStart('device_authorization', incoming.ipAddress, gateway);
  const started = await gateway.peers.device.startDeviceAuthorization(
    {
      caller,
      credentials: { ...credentials, attempted: hasSecret(client) },
      scope: parameters.text('scope'),
      resource: parameters.text('resource'),
    },
    rootCall(incoming.requestId),
  );
  const verificationUri = `${caller.issuer}/device`;
  return {
    device_code: started.deviceCode,
    user_code: started.userCode,
    verification_uri: verificationUri,
    verification_uri_complete: `${verificationUri}?user_code=${encodeURIComponent(started.userCode)}`,
    expires_in: started.expiresIn,
    interval: started.interval,
  };
};
