import { grantTypeByContractName } from '@tessera/oauth';
import { introspectionMembers, type Dialect } from './dialect.ts';
import { standard } from './standard.ts';

/** The contract's JSON: camelCase parameters, answers in the envelope. */
export const contract: Dialect = {
  name: 'contract',
  names: {
    authReqId: 'authReqId',
    clientId: 'clientId',
    clientSecret: 'clientSecret',
    code: 'code',
    codeVerifier: 'codeVerifier',
    decision: 'decision',
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
  failure: (error, message) => ({ isSuccess: false, error, message: inContractWords(message) }),
};

/** The members that a body of the contract may have. */
export const contractNames: ReadonlySet<string> = new Set(Object.values(contract.names));

/** Members that are for people: no text of theirs is a reason to refuse the request. */
export const contractNotes: ReadonlySet<string> = new Set(['reasonRevoked']);

/** Services name a missing parameter as the RFCs do; the caller knows it by the contract's name. */
function inContractWords(message: string): string {
  const missing = /^The parameter (\w+) is missing\.$/.exec(message)?.[1];
  if (missing === undefined) return message;
  const field = Object.entries(standard.names).find(([, name]) => name === missing)?.[0];
  const ours = Object.entries(contract.names).find(([name]) => name === field)?.[1];
  return `The parameter ${ours ?? missing} is missing.`;
}

/** The envelope of a good answer. */
export function success(data: object): object {
  return { isSuccess: true, data };
}
