import { auditRow, auditRows, refusalDetails } from '@tessera/audit';
import { receivedUri, type Refusal as LoggedRefusal } from '@tessera/oauth';
import type { AuditBatch, AuditEvent, AuditRow, EventBase } from '@tessera/audit';
import type { Clock, Random } from '@tessera/kit';
import type { Application } from '@tessera/proto-gen/directory';
import type { UserGrant } from '@tessera/proto-gen/oauth';
import type { Refusal } from './request/request.ts';
import type { BrowserCall } from './browser-call.ts';
import type { LogoutNotice } from './store/logout-notices.ts';
import type { Redemption } from './store/visit-store.ts';
import type { NewSessionRecord, Session, SessionEndReason } from './store/session-store.ts';

type Refused = Exclude<Redemption['outcome'], 'granted'>;

/** A redemption that failed, by an authenticated client. */
interface FailedRedemption {
  readonly tenantId: string;
  readonly clientId: string;
  readonly requestId: string;
  readonly ipAddress: string;
}

type SignedIn = Pick<Session, 'userId' | 'sessionId'>;

/** A failed sign-in. Of what somebody typed as their name, only the start of the digest is recorded. */
export interface FailedSignIn {
  readonly tenantId: string;
  readonly clientId: string;
  readonly who: {
    /** Absent for who has proved another factor already. */
    readonly identifierReference?: string;
    /** Absent for a name that is nobody's. */
    readonly userId?: string;
    /** What was wrong, if it was no password. */
    readonly factor?: string;
  };
}

/**
 * The audit events of this service; those of a step alone are in its folder. Events of a change in Postgres are rows
 * for the same commit; all others go to the batch.
 */
export interface AuthorizeAudit {
  requestRejected(from: BrowserCall, refusal: Refusal): void;
  loginRequired(from: BrowserCall, tenantId: string, clientId: string): void;
  /** The access policy of an application excludes the person. */
  accessDenied(
    from: BrowserCall,
    application: Pick<Application, 'tenantId' | 'clientId'>,
    session: SignedIn,
  ): void;
  tenantMismatch(from: BrowserCall, tenantId: string, clientId: string, session: Session): void;
  signInFailed(from: BrowserCall, failed: FailedSignIn): void;
  signInLimited(from: BrowserCall, failed: FailedSignIn, rule: string): void;
  codeIssued(from: BrowserCall, grant: UserGrant, codeReference: string): void;
  codeRefused(
    request: FailedRedemption,
    outcome: Refused,
    codeReference: string,
    refusal: Pick<LoggedRefusal, 'received' | 'hint'>,
  ): void;
  logoutRedirectRejected(from: BrowserCall, tenantId: string, clientId: string, uri: string): void;
  signedIn(from: BrowserCall, session: NewSessionRecord, clientId: string): AuditRow[];
  sessionEnded(
    from: BrowserCall,
    session: Pick<Session, 'sessionId' | 'tenantId' | 'userId'>,
    reason: SessionEndReason,
  ): AuditRow;
  /** Ended by an administrator, by an application, or by a provider. */
  sessionEndedBy(
    by: EventBase,
    session: Pick<Session, 'sessionId' | 'tenantId' | 'userId'>,
    reason: SessionEndReason,
  ): AuditRow;
  /** Ended because of a change in the directory, without a request. */
  sessionInvalidated(session: Session): AuditRow;
  /** An application was notified of the end of a session, or `reason` says why not. */
  logoutNotified(notice: LogoutNotice, reason: string | undefined): AuditRow;
}

/** `token`, which received the request, records all other rejected codes. */
const eventOfRefusedCode: Partial<Record<Refused, string>> = {
  wrong_verifier: 'code.pkce_failed',
  wrong_redirect_uri: 'code.redirect_uri_failed',
  other_client: 'code.client_mismatch',
};

export function createAuthorizeAudit(
  batch: AuditBatch,
  runtime: { readonly clock: Clock; readonly random: Random },
): AuthorizeAudit {
  return {
    ...refusals(batch),
    ...codeEvents(batch),
    signedIn(from, session, clientId) {
      const who: Omit<AuditEvent, 'event'> = {
        ...originOf(from),
        outcome: 'success',
        tenantId: session.tenantId,
        actor: { type: 'user', id: session.userId },
        subject: session.userId,
        sessionId: session.sessionId,
        ...client(clientId),
      };
      const events = ['auth.login.succeeded', 'session.created'].map((event) => ({ event, ...who }));
      return auditRows(events, runtime);
    },
    sessionEnded(from, session, reason) {
      const event: AuditEvent = {
        event: 'session.ended',
        outcome: 'success',
        reason,
        ...originOf(from),
        tenantId: session.tenantId,
        subject: session.userId,
        sessionId: session.sessionId,
        ...(reason === 'elsewhere' && { actor: { type: 'user', id: session.userId } as const }),
      };
      return auditRow(event, runtime);
    },
    sessionEndedBy(by, { tenantId, userId, sessionId }, reason) {
      const who = { ...by, tenantId, subject: userId, sessionId };
      return auditRow({ event: 'session.ended', outcome: 'success', reason, ...who }, runtime);
    },
    sessionInvalidated({ tenantId, userId, sessionId }) {
      const who = { tenantId, subject: userId, sessionId };
      return auditRow({ event: 'session.ended', outcome: 'success', reason: 'invalidated', ...who }, runtime);
    },
    logoutNotified({ requestId, attempt, ...notice }, reason) {
      const event: AuditEvent = {
        event: 'logout.notified',
        outcome: reason === undefined ? 'success' : 'failure',
        ...(reason === undefined ? {} : { reason }),
        ...(requestId === '' ? {} : { requestId }),
        ...whose(notice.tenantId, notice.clientId),
        subject: notice.userId,
        sessionId: notice.sessionId,
        details: { attempts: String(attempt) },
      };
      return auditRow(event, runtime);
    },
  };
}

function refusals(batch: AuditBatch) {
  const failure = (from: BrowserCall, event: string, rest: Omit<AuditEvent, 'event' | 'outcome'>): void =>
    batch.add({ event, outcome: 'failure', ...originOf(from), ...rest });
  return {
    requestRejected(from: BrowserCall, { error, phase, record }: Refusal): void {
      const known =
        record === undefined ? {} : whose(record.application.tenantId, record.application.clientId);
      const details = refusalDetails(error.refusal, { phase });
      failure(from, 'authorize.rejected', { reason: error.code, ...known, ...details });
    },
    loginRequired(from: BrowserCall, tenantId: string, clientId: string): void {
      failure(from, 'authorize.rejected', {
        reason: 'login_required',
        ...whose(tenantId, clientId),
        details: { phase: 'session' },
      });
    },
    accessDenied(
      from: BrowserCall,
      { tenantId, clientId }: Pick<Application, 'tenantId' | 'clientId'>,
      { userId, sessionId }: SignedIn,
    ): void {
      failure(from, 'authorize.rejected', {
        reason: 'role_missing',
        ...whose(tenantId, clientId),
        subject: userId,
        sessionId,
        details: { phase: 'access' },
      });
    },
    tenantMismatch(from: BrowserCall, tenantId: string, clientId: string, session: Session): void {
      const mismatch = (rest: Partial<AuditEvent>): void =>
        failure(from, 'authorize.tenant_mismatch', { reason: 'tenant_mismatch', ...rest });
      // A row in each tenant, as its administrators read it: none tells them of the other.
      mismatch(whose(tenantId, clientId));
      const { userId: subject, sessionId } = session;
      mismatch({ tenantId: session.tenantId, subject, sessionId });
    },
    signInFailed(from: BrowserCall, { tenantId, clientId, who }: FailedSignIn): void {
      const reason = who.factor === undefined ? 'wrong_credentials' : 'wrong_factor';
      failure(from, 'auth.login.failed', { reason, ...whose(tenantId, clientId), ...whoFailed(who) });
    },
    signInLimited(from: BrowserCall, { tenantId, clientId, who }: FailedSignIn, rule: string): void {
      failure(from, 'ratelimit.exceeded', { reason: rule, ...whose(tenantId, clientId), ...whoFailed(who) });
    },
    logoutRedirectRejected(from: BrowserCall, tenantId: string, clientId: string, uri: string): void {
      failure(from, 'logout.redirect.rejected', {
        reason: 'not_registered',
        ...whose(tenantId, clientId),
        details: { received: receivedUri(uri) },
      });
    },
  };
}

function codeEvents(batch: AuditBatch) {
  return {
    codeIssued(from: BrowserCall, grant: UserGrant, codeReference: string): void {
      batch.add({
        event: 'code.issued',
        outcome: 'success',
        ...originOf(from),
        ...whose(grant.tenantId, grant.clientId),
        subject: grant.userId,
        sessionId: grant.sessionId,
        grantId: codeReference,
      });
    },
    codeRefused(
      request: FailedRedemption,
      outcome: Refused,
      codeReference: string,
      refusal: Pick<LoggedRefusal, 'received' | 'hint'>,
    ): void {
      const event = eventOfRefusedCode[outcome];
      if (event === undefined) return;
      batch.add({
        event,
        outcome: 'failure',
        reason: outcome,
        ...whose(request.tenantId, request.clientId),
        actor: { type: 'client', id: request.clientId },
        grantId: codeReference,
        ...refusalDetails(refusal),
        requestId: request.requestId,
        ipAddress: request.ipAddress,
      });
    },
  };
}

/** Where a request came from. */
export function originOf({ browser, call }: BrowserCall) {
  return {
    requestId: call.requestId,
    ipAddress: browser.ipAddress,
    userAgentHash: browser.userAgentHash,
  };
}

function whoFailed({
  userId,
  identifierReference,
  factor,
}: FailedSignIn['who']): Pick<AuditEvent, 'subject' | 'details'> {
  return {
    ...(userId !== undefined && { subject: userId }),
    details: {
      ...(identifierReference !== undefined && { identifier_hash: identifierReference }),
      ...(factor !== undefined && { factor }),
    },
  };
}

/** Both may be empty: the tenant if it is unknown, the client for a sign-in at the pages of `device`. */
function whose(tenantId: string, clientId: string): { tenantId?: string; clientId?: string } {
  return { ...(tenantId === '' ? {} : { tenantId }), ...client(clientId) };
}

/** A sign-in at the pages of `device` has no client. */
function client(clientId: string): { clientId?: string } {
  return clientId === '' ? {} : { clientId };
}
