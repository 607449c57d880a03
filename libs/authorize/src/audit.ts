import { auditRow } from '@tessera/audit';
import type { AuditBatch, AuditEvent, AuditRow } from '@tessera/audit';
import type { Clock, Random } from '@tessera/kit';
import type { Application } from '@tessera/proto-gen/directory';
import type { Refusal } from './authorization/request.ts';
import type { Visit } from './browser.ts';
import type { CodeRequest } from './authorization/codes.ts';
import type { CodeGrant, NewSessionRecord, Redemption, Session, SessionEnd } from './store/store.ts';

type Refused = Exclude<Redemption['outcome'], 'granted'>;

type SignedIn = Pick<Session, 'userId' | 'sessionId'>;

/** A sign-in that did not happen. The identifier is named by the start of its digest only. */
export interface FailedSignIn {
  readonly tenantId: string;
  readonly clientId: string;
  readonly identifierReference: string;
}

/**
 * The audit events of this service. What changes Postgres comes as rows for the same commit; what changes no durable
 * state goes to the batch.
 */
export interface AuthorizeAudit {
  requestRejected(visit: Visit, refusal: Refusal): void;
  loginRequired(visit: Visit, tenantId: string, clientId: string): void;
  /** The access policy of an application does not let the person in. */
  accessDenied(
    visit: Visit,
    application: Pick<Application, 'tenantId' | 'clientId'>,
    session: SignedIn,
  ): void;
  tenantMismatch(visit: Visit, tenantId: string, clientId: string, session: Session): void;
  signInFailed(visit: Visit, failed: FailedSignIn): void;
  signInLimited(visit: Visit, failed: FailedSignIn, rule: string): void;
  codeIssued(visit: Visit, grant: CodeGrant, codeReference: string): void;
  codeRefused(request: CodeRequest, outcome: Refused, codeReference: string): void;
  logoutRedirectRejected(visit: Visit, tenantId: string, clientId: string): void;
  signedIn(visit: Visit, session: NewSessionRecord, clientId: string): AuditRow[];
  sessionEnded(visit: Visit, session: Session, reason: SessionEnd): AuditRow;
}

/** Other refusals of codes are told by `token`, whose request it was. */
const eventOfRefusedCode: Partial<Record<Refused, string>> = {
  wrong_verifier: 'code.pkce_failed',
  wrong_redirect_uri: 'code.redirect_uri_failed',
  other_client: 'code.client_mismatch',
};

export function createAuthorizeAudit(
  batch: AuditBatch,
  kit: { readonly clock: Clock; readonly random: Random },
): AuthorizeAudit {
  return {
    ...refusals(batch),
    ...codeEvents(batch),
    signedIn(visit, session, clientId) {
      const who: Omit<AuditEvent, 'event'> = {
        ...origin(visit),
        outcome: 'success',
        tenantId: session.tenantId,
        actor: { type: 'user', id: session.userId },
        subject: session.userId,
        sessionId: session.sessionId,
        ...client(clientId),
      };
      return ['auth.login.succeeded', 'session.created'].map((event) => auditRow({ event, ...who }, kit));
    },
    sessionEnded(visit, session, reason) {
      const event: AuditEvent = {
        event: 'session.ended',
        outcome: 'success',
        reason,
        ...origin(visit),
        tenantId: session.tenantId,
        subject: session.userId,
        sessionId: session.sessionId,
      };
      return auditRow(event, kit);
    },
  };
}

function refusals(batch: AuditBatch) {
  const failure = (visit: Visit, event: string, rest: Omit<AuditEvent, 'event' | 'outcome'>): void =>
    batch.add({ event, outcome: 'failure', ...origin(visit), ...rest });
  return {
    requestRejected(visit: Visit, { error, phase, record }: Refusal): void {
      const known =
        record === undefined ? {} : whose(record.application.tenantId, record.application.clientId);
      failure(visit, 'authorize.rejected', { reason: error.code, ...known, details: { phase } });
    },
    loginRequired(visit: Visit, tenantId: string, clientId: string): void {
      failure(visit, 'authorize.rejected', {
        reason: 'login_required',
        ...whose(tenantId, clientId),
        details: { phase: 'session' },
      });
    },
    accessDenied(
      visit: Visit,
      { tenantId, clientId }: Pick<Application, 'tenantId' | 'clientId'>,
      { userId, sessionId }: SignedIn,
    ): void {
      failure(visit, 'authorize.rejected', {
        reason: 'role_missing',
        ...whose(tenantId, clientId),
        subject: userId,
        sessionId,
        details: { phase: 'access' },
      });
    },
    tenantMismatch(visit: Visit, tenantId: string, clientId: string, session: Session): void {
      failure(visit, 'authorize.tenant_mismatch', {
        reason: 'tenant_mismatch',
        ...whose(tenantId, clientId),
        subject: session.userId,
        sessionId: session.sessionId,
        details: { session_tenant_id: session.tenantId },
      });
    },
    signInFailed(visit: Visit, { tenantId, clientId, identifierReference }: FailedSignIn): void {
      failure(visit, 'auth.login.failed', {
        reason: 'wrong_credentials',
        ...whose(tenantId, clientId),
        details: { identifier_hash: identifierReference },
      });
    },
    signInLimited(
      visit: Visit,
      { tenantId, clientId, identifierReference }: FailedSignIn,
      rule: string,
    ): void {
      failure(visit, 'ratelimit.exceeded', {
        reason: rule,
        ...whose(tenantId, clientId),
        details: { identifier_hash: identifierReference },
      });
    },
    logoutRedirectRejected(visit: Visit, tenantId: string, clientId: string): void {
      failure(visit, 'logout.redirect.rejected', {
        reason: 'not_registered',
        ...whose(tenantId, clientId),
      });
    },
  };
}

function codeEvents(batch: AuditBatch) {
  return {
    codeIssued(visit: Visit, grant: CodeGrant, codeReference: string): void {
      batch.add({
        event: 'code.issued',
        outcome: 'success',
        ...origin(visit),
        ...whose(grant.tenantId, grant.clientId),
        subject: grant.userId,
        sessionId: grant.sessionId,
        grantId: codeReference,
      });
    },
    codeRefused(request: CodeRequest, outcome: Refused, codeReference: string): void {
      const event = eventOfRefusedCode[outcome];
      if (event === undefined) return;
      batch.add({
        event,
        outcome: 'failure',
        reason: outcome,
        ...whose(request.tenantId, request.clientId),
        actor: { type: 'client', id: request.clientId },
        grantId: codeReference,
        requestId: request.requestId,
        ipAddress: request.ipAddress,
      });
    },
  };
}

function origin({ browser, call }: Visit) {
  return {
    requestId: call.requestId,
    ipAddress: browser.ipAddress,
    userAgentHash: browser.userAgentHash,
  };
}

function whose(tenantId: string, clientId: string) {
  return { tenantId, ...client(clientId) };
}

/** Signing in at the pages of `device` has no client. */
function client(clientId: string): { clientId?: string } {
  return clientId === '' ? {} : { clientId };
}
