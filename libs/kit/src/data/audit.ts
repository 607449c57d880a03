/** One audit event. Names are those of the audit reference; never a secret, token, code, password or raw login hint. */
export interface AuditEvent {
  /** For example `refresh.rotated`. */
  readonly event: string;
  readonly outcome: 'success' | 'failure';
  /** From a closed list, for example `wrong_password`. */
  readonly reason?: string;
  readonly tenantId?: string;
  readonly actor?: { readonly type: 'user' | 'client' | 'operator' | 'system'; readonly id: string };
  readonly subject?: string;
  readonly clientId?: string;
  readonly sessionId?: string;
  /** Refresh family or other grant. */
  readonly grantId?: string;
  readonly requestId?: string;
  readonly ipAddress?: string;
  readonly userAgentHash?: string;
  readonly details?: Readonly<Record<string, string>>;
}
