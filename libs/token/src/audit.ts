import { refusalDetails, type AuditBatch } from '@tessera/audit';
import { ClientRefusal } from '@tessera/directory-client';
import type { CallContext } from '@tessera/rpc';
import { isNoRefusal, OAuthError, type ErrorCode } from '@tessera/oauth';

/**
 * The reason why a request was denied, for the audit trail and the metrics. The client never sees it, so that a
 * response does not reveal which of several secrets or states was wrong.
 */
class AuditReason extends Error {
  override readonly name = 'AuditReason';
  readonly reason: string;
  /** Whether a store has written the audit row already, in the same commit as its change. */
  readonly audited: boolean;

  constructor(reason: string, audited: boolean) {
    super(reason);
    this.reason = reason;
    this.audited = audited;
  }
}

/**
 * An `OAuthError` with the reason code for the audit trail.
 * @param audited whether a store has written the audit row already
 */
export function oauthError(
  code: ErrorCode,
  message: string,
  reason: string,
  { audited = false }: { audited?: boolean } = {},
): OAuthError {
  return new OAuthError(code, message, { cause: new AuditReason(reason, audited) });
}

/** The reason code given to `oauthError`, or of a refused client; undefined for any other error. */
export function auditReasonOf(error: unknown): string | undefined {
  if (!(error instanceof OAuthError)) return undefined;
  const { cause } = error;
  return cause instanceof AuditReason || cause instanceof ClientRefusal ? cause.reason : undefined;
}

/** Requests too malformed to attribute to a client. */
const malformed: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['invalid_request', 'unsupported_grant_type']);

const eventNames: Partial<Record<ErrorCode, string>> = {
  invalid_client: 'client.auth_failed',
  invalid_scope: 'token.scope_denied',
  rate_limited: 'ratelimit.exceeded',
};

/** What the audit row of a denied request says about it, as claimed by the request. */
export interface AuditedRequest {
  readonly clientId: string;
  /** Once the application is known. */
  readonly tenantId?: string;
  readonly ipAddress: string;
  readonly details?: Readonly<Record<string, string>>;
}

/** Runs `work` and adds an audit row if it is denied, unless a store has written one. Rethrows what `work` throws. */
export async function auditDenied<T>(
  audit: Pick<AuditBatch, 'add'>,
  request: AuditedRequest | (() => AuditedRequest),
  { requestId }: Pick<CallContext, 'requestId'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (
      error instanceof OAuthError &&
      !isNoRefusal(error) &&
      !malformed.has(error.code) &&
      !isAudited(error)
    ) {
      const event = eventNames[error.code] ?? 'token.denied';
      const reason = auditReasonOf(error) ?? error.code;
      const claimed = typeof request === 'function' ? request() : request;
      const details = refusalDetails(error.refusal, claimed.details);
      const row = { event, outcome: 'failure', reason, requestId, ...claimed, ...details } as const;
      audit.add({ ...row, ...tenantOf(error), clientId: clientIdOf(error) ?? claimed.clientId });
    }
    throw error;
  }
}

/** Of the application that a refused client proves to be or names, if it is known. */
export function clientIdOf(error: unknown): string | undefined {
  const { cause } = error instanceof OAuthError ? error : {};
  return cause instanceof ClientRefusal ? cause.clientId : undefined;
}

/** Of the application whose client is refused. */
function tenantOf({ cause }: OAuthError): { readonly tenantId?: string } {
  const tenantId = cause instanceof ClientRefusal ? cause.tenantId : undefined;
  return tenantId === undefined ? {} : { tenantId };
}

function isAudited({ cause }: OAuthError): boolean {
  return cause instanceof AuditReason && cause.audited;
}
