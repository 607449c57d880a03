import { annotate } from '@tessera/telemetry';
import { rootCall } from '@tessera/rpc';
import { grantTypeByContractName, grantTypeByStandardName, OAuthError } from '@tessera/oauth';
import type { Dialect } from '../dialects/dialect.ts';
import { requiredCredentials, sentCredentials } from './sent-credentials.ts';
import type { Endpoint } from './endpoint.ts';

/** `POST /token` (RFC 6749 §3.2): one exchange, whatever the grant. */
export const token: Endpoint = async (request, { peers }) => {
  const { incoming, dialect, parameters } = request;
  const sent = parameters.required('grantType', 'The grant type is missing.');
  const grantType = dialect.grantType(sent);
  if (grantType === undefined) throw unsupportedGrantType(dialect, sent);
  annotate('tessera.grant_type', grantType.name);
  const response = await peers.token.exchange(
    {
      caller: incoming.caller(),
      credentials: grantType.name === 'jwt_bearer' ? sentCredentials(request) : requiredCredentials(request),
      grantType: grantType.name,
      scope: parameters.text('scope'),
      resource: parameters.text('resource'),
      code: parameters.text('code'),
      codeVerifier: parameters.text('codeVerifier'),
      redirectUri: parameters.text('redirectUri'),
      refreshToken: parameters.text('refreshToken'),
      deviceCode: parameters.text('deviceCode'),
      authReqId: parameters.text('authReqId'),
      assertion: parameters.text('assertion'),
    },
    rootCall(incoming.requestId),
  );
  return dialect.tokens(response);
};

/**
 * A grant type that the other dialect calls so is told by the name of this one; others may be anything that was pasted.
 */
function unsupportedGrantType({ name: dialect }: Dialect, sent: string): OAuthError {
  const isContract = dialect === 'contract';
  const meant = isContract ? grantTypeByStandardName(sent) : grantTypeByContractName(sent);
  const hint =
    meant === undefined
      ? undefined
      : `${isContract ? 'JSON' : 'A form'} takes ${isContract ? meant.name : meant.standard}.`;
  return new OAuthError(
    'unsupported_grant_type',
    ['The grant type is not supported.', ...(hint === undefined ? [] : [hint])].join(' '),
    { refusal: { hint } },
  );
}
