import { grantTypeByStandardName } from '@tessera/oauth';
import { introspectionMembers, tokenMembers, type Dialect } from './dialect.ts';
import { standardName, standardNames } from './parameter-names.ts';

/** The RFCs' forms: snake_case parameters and answers (RFC 6749 §5, RFC 7662 §2.2). */
export const standard: Dialect = {
  name: 'standard',
  names: standardNames,
  grantType: grantTypeByStandardName,
  tokens: (response) =>
    Object.fromEntries(
      Object.entries(tokenMembers(response)).map(([name, value]) => [standardName(name), value]),
    ),
  introspection: introspectionMembers,
  failure: (error, message) => ({ error, error_description: message }),
};
