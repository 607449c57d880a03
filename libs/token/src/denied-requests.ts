import type { AuditBatch } from '@tessera/audit';
import type { CallContext } from '@tessera/rpc';
import { OAuthError, type ErrorCode } from '@tessera/oauth';
import { Refusal } from './audit-reason.ts';

/** Refusals that are part of normal work, our own trouble, or requests too malformed to say who refused what. */
const unaudited: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'authorization_pending',
  'slow_down',
  'invalid_request',
  'unsupported_grant_type',
  'server_error',
  'temporarily_unavailable',
]);

const eventNames: Partial<Record<ErrorCode, string>> = {
  invalid_client: 'client.auth_failed',
  invalid_scope: 'token.scope_denied',
  rate_limited: 'ratelimit.exceeded',
};

/** Who was refused what, as far as the request says. */
export interface Attempt {
  readonly clientId: string;
  readonly ipAddress: string;
  readonly details?: Readonly<Record<string, string>>;
}

/** Notes a refusal, unless a store has noted it with what it did. */
export function auditDenial(
  audit: Pick<AuditBatch, 'add'>,
  attempt: Attempt,
  context: Pick<CallContext, 'requestId'>,
  error: unknown,
): void {
  if (!(error instanceof OAuthError) || unaudited.has(error.code)) return;
  const refusal = error.cause instanceof Refusal ? error.cause : undefined;
  if (refusal?.audited) return;
  audit.add({
    event: eventNames[error.code] ?? 'token.denied',
    outcome: 'failure',
    reason: refusal?.reason ?? error.code,
    requestId: context.requestId,
    ...attempt,
  });
}
