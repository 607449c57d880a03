import { annotate } from '@tessera/telemetry';
import { rootCall } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import { requiredCredentials } from './sent-credentials.ts';
import type { Endpoint } from './endpoint.ts';

/** `POST /token` (RFC 6749 §3.2): one exchange, whatever the grant. */
export const token: Endpoint = async (request, { peers }) => {
  const { incoming, dialect, parameters } = request;
  const grantType = dialect.grantType(parameters.required('grantType', 'The grant type is missing.'));
  if (grantType === undefined) {
    throw new OAuthError('unsupported_grant_type', 'The grant type is not supported.');
  }
  annotate('tessera.grant_type', grantType.name);
  const response = await peers.token.exchange(
    {
      caller: incoming.caller(),
      credentials: requiredCredentials(request),
      grantType: grantType.name,
      scope: parameters.text('scope'),
      resource: parameters.text('resource'),
      code: parameters.text('code'),
      codeVerifier: parameters.text('codeVerifier'),
      redirectUri: parameters.text('redirectUri'),
      refreshToken: parameters.text('refreshToken'),
      deviceCode: parameters.text('deviceCode'),
      authReqId: parameters.text('authReqId'),
    },
    rootCall(incoming.requestId),
  );
  return dialect.tokens(response);
};
