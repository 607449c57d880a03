import type { AuditBatch, AuditEvent, CallContext } from '@tessera/kit';
import { OAuthError, type ErrorCode } from '@tessera/oauth';
import type { ExchangeRequest } from '@tessera/proto-gen/token';
import { Refusal } from './refusal.ts';

/** Refusals that are part of normal work, our own trouble, or requests too malformed to say who refused what. */
const unaudited: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'authorization_pending',
  'slow_down',
  'invalid_request',
  'unsupported_grant_type',
  'rate_limited',
  'server_error',
  'temporarily_unavailable',
]);

const eventNames: Partial<Record<ErrorCode, string>> = {
  invalid_client: 'client.auth_failed',
  invalid_scope: 'token.scope_denied',
};

/** Notes a refused token request, unless a store has noted it with what it did. */
export function auditDenial(
  audit: Pick<AuditBatch, 'add'>,
  request: ExchangeRequest,
  context: CallContext,
  error: unknown,
): void {
  if (!(error instanceof OAuthError) || unaudited.has(error.code)) return;
  const refusal = error.cause instanceof Refusal ? error.cause : undefined;
  if (refusal?.audited) return;
  const event: AuditEvent = {
    event: eventNames[error.code] ?? 'token.denied',
    outcome: 'failure',
    reason: refusal?.reason ?? error.code,
    clientId: request.credentials?.clientId ?? '',
    requestId: context.requestId,
    ipAddress: request.caller?.ipAddress ?? '',
    details: { grantType: request.grantType },
  };
  audit.add(event);
}
