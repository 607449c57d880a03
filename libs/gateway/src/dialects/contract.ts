import { grantTypeByContractName } from '@tessera/oauth';
import { introspectionMembers, type Dialect } from './dialect.ts';

/** The contract's JSON: camelCase parameters, answers in the envelope. */
export const contract: Dialect = {
  name: 'contract',
  names: {
    authReqId: 'authReqId',
    clientId: 'clientId',
    clientSecret: 'clientSecret',
    code: 'code',
    codeVerifier: 'codeVerifier',
    deviceCode: 'deviceCode',
    grantType: 'grantType',
    reasonRevoked: 'reasonRevoked',
    redirectUri: 'redirectUri',
    refreshToken: 'refreshToken',
    resource: 'resource',
    scope: 'scope',
    token: 'token',
  },
  grantType: grantTypeByContractName,
  tokens: (response) =>
    success({
      accessToken: response.accessToken,
      tokenType: 'Bearer',
      expiresIn: response.expiresIn,
      ...(response.scope === '' ? {} : { scope: response.scope }),
      ...(response.refreshToken === '' ? {} : { refreshToken: response.refreshToken }),
      ...(response.idToken === '' ? {} : { idToken: response.idToken }),
    }),
  introspection: (response) => success(introspectionMembers(response)),
  failure: (error, message) => ({ isSuccess: false, error, message }),
};

/** The envelope of a good answer. */
export function success(data: object): object {
  return { isSuccess: true, data };
}
