import type { AuditRow } from '@tessera/audit';

/** The end of a session, for one application that got a code in it (OIDC Back-Channel Logout). */
export interface LogoutNotice {
  /** The `jti` of its logout tokens. */
  readonly noticeId: string;
  /**
   * 1 for the first claim and higher for each later one; never reused. A claim is void once the notice is claimed
   * again.
   */
  readonly claim: number;
  /** The number of attempts, including this one. */
  readonly attempt: number;
  readonly tenantId: string;
  readonly clientId: string;
  readonly userId: string;
  /** The `sid` that the application knows. */
  readonly sessionId: string;
  readonly issuer: string;
  /** Of the call that ended the session; empty without one. */
  readonly requestId: string;
  /** Seconds until delivery is abandoned; negative afterwards. */
  readonly remainingSeconds: number;
}

type Claim = Pick<LogoutNotice, 'noticeId' | 'claim'>;

/**
 * Pending notices; `SessionStore` writes them. All times are the database's. Any number of processes may take
 * concurrently: no notice is taken twice. A void claim changes nothing.
 */
export interface LogoutNoticeStore {
  /** Claims up to `limit` due notices for `leaseSeconds`, except those of the client ids in `skipped`. */
  take(limit: number, leaseSeconds: number, skipped: readonly string[]): Promise<LogoutNotice[]>;
  /** Removes a claimed notice and writes the audit row of its outcome. False if the claim is void. */
  finish(claim: Claim, audit: AuditRow): Promise<boolean>;
  /** Makes a claimed notice due again after a pause. */
  retry(claim: Claim, delaySeconds: number): Promise<void>;
  /** As `retry`, but the claim does not count as an attempt. */
  giveBack(claim: Claim, delaySeconds: number): Promise<void>;
  /** Removes up to `limit` notices that expired more than a day ago. Resolves with the number removed. */
  purge(limit: number): Promise<number>;
}
