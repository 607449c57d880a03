import { OAuthError } from '@tessera/oauth';
import { noteSessionEnd } from '../pages/session.ts';
import { waitForOthers } from '../http/waiting-for-others.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * `POST /login/provider/:tenant/:provider/backchannel-logout`: a provider says that a session there is over (OIDC
 * Back-Channel Logout §2.5). The rules are those of `authorize`; what is wrong with a token is told to nobody.
 */
export const providerLogout: Endpoint = async ({ incoming, request, parameters, path }, gateway) => {
  const { tenant: tenantId = '', provider = '' } = path;
  const sent = {
    issuer: incoming.issuer(),
    issuerTenantId: incoming.tenant?.tenantId ?? '',
    tenantId,
    provider,
    logoutToken: parameters.required('logoutToken', 'The logout token is missing.'),
    ipAddress: incoming.ipAddress,
  };
  const { refused, sessions } = await waitForOthers(request, gateway, async (options) =>
    gateway.peers.authorize.endProviderSessions(sent, options),
  );
  if (refused) throw new OAuthError('invalid_request', 'The logout token is not accepted.');
  await Promise.all(sessions.map(async (ended) => noteSessionEnd({ request: { incoming }, gateway }, ended)));
  return {};
};
