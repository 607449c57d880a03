import { grantTypeByContractName } from '@tessera/oauth';
import { introspectionMembers, tokenMembers, type Dialect } from './dialect.ts';
import { contractNames, standardName } from './parameter-names.ts';

/** The contract's JSON: camelCase parameters, answers in the envelope. */
export const contract: Dialect = {
  name: 'contract',
  names: contractNames,
  grantType: grantTypeByContractName,
  tokens: (response) => success(tokenMembers(response)),
  introspection: (response) => success(introspectionMembers(response)),
  failure: (error, message) => ({ isSuccess: false, error, message: inContractWords(message) }),
};

/** Members that are for people: no text of theirs is a reason to refuse the request. */
export const contractNotes: ReadonlySet<string> = new Set(['reasonRevoked']);

/** Services name a missing parameter as the RFCs do; the caller knows it by the contract's name. */
function inContractWords(message: string): string {
  const [sentence, missing] = /^The parameter (\w+) is missing\./.exec(message) ?? [];
  if (sentence === undefined || missing === undefined) return message;
  const ours = [...contractNames.values()].find((name) => standardName(name) === missing);
  return `The parameter ${ours ?? missing} is missing.${message.slice(sentence.length)}`;
}

/** The envelope of a good answer. */
export function success(data: object): object {
  return { isSuccess: true, data };
}
