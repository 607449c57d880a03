import { rootCall } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import { sentCredentials } from './sent-credentials.ts';
import { admitCaller } from './trusted-callers.ts';
import type { Endpoint } from './endpoint.ts';

const revoked = { message: 'Refresh token revoked.' };

/** `DELETE /revoke`, the contract's: an unknown token is an error, the caller may be admitted without credentials. */
export const revokeByContract: Endpoint = async (request, { peers, config }) => {
  const { incoming, parameters } = request;
  const credentials = admitCaller(request, config);
  await peers.token.revoke(
    {
      token: parameters.required('token', 'The token is missing.'),
      reason: parameters.text('reasonRevoked'),
      caller: incoming.caller(),
      ignoreUnknown: false,
      ...(credentials === undefined ? {} : { credentials }),
    },
    rootCall(incoming.requestId),
  );
  return revoked;
};

/** `POST /revoke` (RFC 7009): the client authenticates, an unknown token is answered like a revoked one (§2.2). */
export const revokeByStandard: Endpoint = async (request, { peers }) => {
  const { incoming, parameters } = request;
  const credentials = sentCredentials(request);
  if (credentials === undefined) throw new OAuthError('invalid_client', 'Client authentication is required.');
  const token = parameters.required('token', 'The token is missing.');
  await peers.token.revoke(
    { token, credentials, caller: incoming.caller(), ignoreUnknown: true },
    rootCall(incoming.requestId),
  );
  return {};
};
