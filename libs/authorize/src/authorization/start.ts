import type { DirectoryClient } from '@tessera/directory-client';
import type { AuthorizeAudit } from '../audit.ts';
import type { ClientRedirect } from '@tessera/oauth';
import { accessDeniedResponse, checkRequest, isRefusal, loginRequiredResponse } from './request.ts';
import type { AskedRequest, CheckedRequest, Refusal } from './request.ts';
import type { BrowserCall } from '../browser.ts';
import type { Codes } from './codes.ts';
import { describeInteraction } from './pending-requests.ts';
import type { Interaction, PendingRequests } from './pending-requests.ts';
import { nextStep, withoutSession } from './next-step.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Session } from '../store/store.ts';

/** Where the browser goes next. */
export type Started =
  | { readonly next: 'redirect'; readonly redirect: ClientRedirect }
  | { readonly next: 'interaction' | 'tenant_mismatch'; readonly interaction: Interaction };

/** Serves an authorization request (RFC 6749 §4.1.1, OIDC Core §3.1.2). Throws OAuthError for what the browser sees as an error page. */
export type StartAuthorization = (from: BrowserCall, asked: Omit<AskedRequest, 'issuer'>) => Promise<Started>;

export function createStartAuthorization(deps: {
  readonly directory: DirectoryClient;
  readonly sessions: Sessions;
  readonly pendingRequests: PendingRequests;
  readonly codes: Codes;
  readonly audit: AuthorizeAudit;
  readonly ignoreUnknownScopes: boolean;
}): StartAuthorization {
  const { directory, sessions, pendingRequests, codes, audit, ignoreUnknownScopes } = deps;

  async function keepPending(
    from: BrowserCall,
    request: CheckedRequest,
    parameters: Readonly<Record<string, string>>,
  ) {
    const interactionId = await pendingRequests.save(from.browser, request, parameters);
    return describeInteraction(interactionId, request);
  }

  function refuseLogin(from: BrowserCall, request: CheckedRequest): Started {
    const { tenantId, clientId } = request.record.application;
    audit.loginRequired(from, tenantId, clientId);
    return { next: 'redirect', redirect: loginRequiredResponse(request) };
  }

  /** Single sign-on: where the browser goes; undefined if the session is no longer valid for this application. */
  async function issue(
    from: BrowserCall,
    request: CheckedRequest,
    session: Session,
  ): Promise<ClientRedirect | undefined> {
    const user = await directory.user(session.tenantId, session.userId, from.call.onward());
    if (user === undefined || !directory.isActive(user, session.authentication.time)) return undefined;
    if (!directory.isActive(request.record, session.authentication.time)) return undefined;
    // Even without prompt=none: the same person would end up here again. With prompt=login another person can sign in.
    if (!directory.mayUse(request.record.application, user)) {
      audit.accessDenied(from, request.record.application, session);
      return accessDeniedResponse(request);
    }
    return (await codes.issue(from, request, session))?.redirect;
  }

  return async (from, asked) => {
    const { parameters } = asked;
    const { tenantId } = from.browser;
    const lookup = { directory, call: from.call.onward(), ignoreUnknownScopes, tenantId };
    const request = await checkRequest({ ...asked, issuer: from.browser.issuer }, lookup);
    if (isRefusal(request)) {
      audit.requestRejected(from, request);
      if (request.redirect === undefined) throw refusedRequest(request);
      return { next: 'redirect', redirect: request.redirect };
    }
    const session = await sessions.find(from);
    let step = nextStep(request, session);
    if (step === 'tenant_mismatch' && session !== undefined) {
      const { tenantId, clientId } = request.record.application;
      audit.tenantMismatch(from, tenantId, clientId, session);
      return { next: 'tenant_mismatch', interaction: await keepPending(from, request, parameters) };
    }
    if (step === 'issue_code' && session !== undefined) {
      const redirect = await issue(from, request, session);
      if (redirect !== undefined) return { next: 'redirect', redirect };
      step = withoutSession(request);
    }
    if (step === 'login_required') return refuseLogin(from, request);
    return { next: 'interaction', interaction: await keepPending(from, request, parameters) };
  };
}

/** The error of a refused request, with what the access log says of it. The client is looked up after the parameters are checked. */
function refusedRequest({ error, phase, record }: Refusal): Refusal['error'] {
  const unknown = phase === 'application' ? 'unknown_client' : undefined;
  return error.withRefusal({
    clientId: record?.application.clientId ?? unknown,
    phase,
    reason: typeof error.cause === 'string' ? error.cause : error.message,
  });
}
