import { profileScope } from '../declared-state.ts';
import type { Target } from '../target.ts';
import { byCalls, byEmptyCalls, coldTokens, ofAccessTokens, ofNothing, warmTokens } from './introspection.ts';
import type { HttpLoad, Operation } from './operation.ts';
import { authorizations, bareSignIns, codeExchanges, issuePersonalTokens, signIns } from './people.ts';
import { cycle, get, okWith } from './requests.ts';
import {
  barePolls,
  clientCredentials,
  contractClientCredentials,
  devicePolls,
  es256Scope,
  federatedClientCredentials,
  refreshes,
} from './tokens.ts';

async function userinfo(target: Target): Promise<HttpLoad> {
  const tokens = await issuePersonalTokens(target, 1000, profileScope);
  const requests = tokens.map(({ accessToken }) =>
    get('/userinfo', { authorization: `Bearer ${accessToken}` }),
  );
  return cycle(requests, okWith('"email":"'));
}

function document(path: string, text: string): Operation {
  const prepare = async () => cycle([get(path)], okWith(text));
  return { prepare, bare: prepare, peer: true };
}

const singleCall = { inFlight: 64, splitOnly: true, bare: byEmptyCalls };

const operations = {
  'client-credentials-json': { prepare: contractClientCredentials, peer: true },
  'client-credentials-form': { prepare: (target) => clientCredentials(target), peer: true },
  'client-credentials-es256': { prepare: (target) => clientCredentials(target, es256Scope), recent: true },
  'client-credentials-federated': { prepare: federatedClientCredentials, recent: true },
  'code-exchange': { prepare: codeExchanges, peer: true },
  refresh: { prepare: (target) => refreshes(target, 'orders.read'), peer: true },
  'refresh-openid': { prepare: (target) => refreshes(target), peer: true },
  'introspect-access': { prepare: ofAccessTokens, bare: ofNothing, peer: true },
  'introspect-call': { ...singleCall, prepare: (target) => byCalls(target, warmTokens) },
  'introspect-call-cold': { ...singleCall, prepare: (target) => byCalls(target, coldTokens) },
  userinfo: { prepare: userinfo, peer: true },
  'device-poll': { prepare: devicePolls, bare: barePolls, peer: true },
  discovery: document('/.well-known/openid-configuration', '"issuer":"'),
  jwks: document('/.well-known/jwks.json', '"keys":['),
  'sign-in': { prepare: signIns, bare: bareSignIns, inFlight: 4 },
  'authorize-session': { prepare: authorizations, peer: true },
} satisfies Readonly<Record<string, Operation>>;

export type OperationName = keyof typeof operations;

/** In the order of the table. */
export const operationNames = Object.keys(operations) as OperationName[];

export const operationNamed = (name: OperationName): Operation => operations[name];
