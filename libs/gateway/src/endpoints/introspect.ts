import { rootCall } from '@tessera/rpc';
import { admitCaller } from './trusted-callers.ts';
import type { Endpoint } from './endpoint.ts';

/** `POST /introspect` (RFC 7662). */
export const introspect: Endpoint = async (request, { peers, config }) => {
  const { incoming, dialect, parameters } = request;
  const credentials = admitCaller(request, config);
  const token = parameters.required('token', 'Invalid request.');
  const response = await peers.introspection.introspect(
    { token, caller: incoming.caller(), ...(credentials === undefined ? {} : { credentials }) },
    rootCall(incoming.requestId),
  );
  return dialect.introspection(response);
};
