import { rootCall } from '@tessera/rpc';
import { readCredentials } from './client-authentication.ts';
import { admit } from './trusted-callers.ts';
import type { Endpoint } from './endpoint.ts';

/** `POST /introspect` (RFC 7662). */
export const introspect: Endpoint = async (
  { incoming, dialect, parameters, authorization },
  { peers, config },
) => {
  const credentials = admit(readCredentials(authorization, parameters), incoming.ipAddress, config);
  const token = parameters.required('token', 'Invalid request.');
  const response = await peers.introspection.introspect(
    { token, caller: incoming.caller(), ...(credentials === undefined ? {} : { credentials }) },
    rootCall(incoming.requestId),
  );
  return dialect.introspection(response);
};
