import { grantTypeByStandardName } from '@tessera/oauth';
import { introspectionMembers, type Dialect } from './dialect.ts';

/** The RFCs' forms: snake_case parameters and answers (RFC 6749 §5, RFC 7662 §2.2). */
export const standard: Dialect = {
  name: 'standard',
  names: {
    authReqId: 'auth_req_id',
    bindingMessage: 'binding_message',
    clientId: 'client_id',
    clientNotificationToken: 'client_notification_token',
    clientSecret: 'client_secret',
    code: 'code',
    codeVerifier: 'code_verifier',
    decision: 'decision',
    deviceCode: 'device_code',
    grantType: 'grant_type',
    idTokenHint: 'id_token_hint',
    loginHint: 'login_hint',
    loginHintToken: 'login_hint_token',
    redirectUri: 'redirect_uri',
    refreshToken: 'refresh_token',
    requestedExpiry: 'requested_expiry',
    resource: 'resource',
    scope: 'scope',
    token: 'token',
  },
  grantType: grantTypeByStandardName,
  tokens: (response) => ({
    access_token: response.accessToken,
    token_type: 'Bearer',
    expires_in: response.expiresIn,
    ...(response.scope === '' ? {} : { scope: response.scope }),
    ...(response.refreshToken === '' ? {} : { refresh_token: response.refreshToken }),
    ...(response.idToken === '' ? {} : { id_token: response.idToken }),
  }),
  introspection: introspectionMembers,
  failure: (error, message) => ({ error, error_description: message }),
};
