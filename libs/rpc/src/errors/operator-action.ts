import { ConnectError } from '@connectrpc/connect';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { OAuthErrorDetailSchema } from '@tessera/proto-gen/error';

const operatorPhase = 'needs an operator';

/**
 * The error while a service cannot do its work until an operator changes something: to clients it is
 * `temporarily_unavailable`, but waiting does not help.
 * @param remedy what is wrong and what to do, for the log and for operators
 */
export function needsOperator(remedy: string): OAuthError {
  return temporarilyUnavailable(new Error(remedy)).withRefusal({ phase: operatorPhase, reason: remedy });
}

/** What an operator has to do before a call can succeed, as its service said; undefined for any other error. */
export function operatorRemedy(error: unknown): string | undefined {
  if (error instanceof OAuthError)
    return error.refusal?.phase === operatorPhase ? error.refusal.reason : undefined;
  const [detail] = error instanceof ConnectError ? error.findDetails(OAuthErrorDetailSchema) : [];
  return detail?.refusedPhase === operatorPhase ? detail.refusedReason : undefined;
}
