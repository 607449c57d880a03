import type { ErrorCode } from '@tessera/oauth';
import { OAuthError } from '@tessera/oauth';
import { contractNames, standardNames } from './parameter-names.ts';
import type { Dialect } from './dialect.ts';

/** The name of each dialect in sentences, and the names of parameters that senders take for its own. */
const dialects = {
  contract: { title: 'JSON', own: contractNames, others: standardNames },
  standard: { title: 'A form', own: standardNames, others: contractNames },
} as const;

/** The message of the contract, which has nothing after it. */
const toTheLetter = 'Invalid request.';

/** What may come of a parameter that was not read. */
const consequences: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'invalid_target',
  'unauthorized_client',
  'unsupported_grant_type',
]);

/**
 * The same error, for a request that names a parameter as the other dialect does: with the name that this one takes,
 * for the client too. It depends on nothing but the request.
 * @param names of all parameters that were sent
 */
export function withSpelling(error: unknown, names: ReadonlySet<string>, dialect: Dialect): unknown {
  if (!(error instanceof OAuthError) || !consequences.has(error.code)) return error;
  const { title, own, others } = dialects[dialect.name];
  const misspelt = [...own].find(([field, name]) => {
    const other = others.get(field);
    return other !== undefined && other !== name && names.has(other) && !names.has(name);
  });
  if (misspelt === undefined) return error;
  const [field, name] = misspelt;
  const hint = `${title} takes ${name}, not ${others.get(field) ?? ''}.`;
  const { code, message, cause, retryAfterSeconds, refusal } = error;
  return new OAuthError(code, message === toTheLetter ? message : `${message} ${hint}`, {
    cause,
    retryAfterSeconds,
    refusal: { reason: message, ...refusal, hint },
  });
}
