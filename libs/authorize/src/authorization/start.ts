import type { DirectoryClient } from '@tessera/directory-client';
import type { AuthorizeAudit } from '../audit.ts';
import { accessDeniedLocation, checkRequest, isRefusal, loginRequiredLocation } from './request.ts';
import type { AskedRequest, CheckedRequest } from './request.ts';
import type { Visit } from '../browser.ts';
import type { Codes } from './codes.ts';
import { describeInteraction } from './pending-requests.ts';
import type { InteractionView, Interactions } from './pending-requests.ts';
import { nextStep, withoutSession } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Session } from '../store/store.ts';

/** What the browser does next. */
export type Begun =
  | { readonly next: 'redirect'; readonly location: string }
  | { readonly next: 'interaction' | 'tenant_mismatch'; readonly interaction: InteractionView };

/** Serves an authorization request (RFC 6749 §4.1.1, OIDC Core §3.1.2). Throws what is answered by an error page. */
export type BeginAuthorization = (
  visit: Visit,
  asked: Pick<AskedRequest, 'parameters' | 'hintedUserId'>,
) => Promise<Begun>;

export function createBeginAuthorization(deps: {
  readonly records: DirectoryClient;
  readonly sessions: Sessions;
  readonly interactions: Interactions;
  readonly codes: Codes;
  readonly audit: AuthorizeAudit;
}): BeginAuthorization {
  const { records, sessions, interactions, codes, audit } = deps;

  async function interact(
    visit: Visit,
    request: CheckedRequest,
    parameters: Readonly<Record<string, string>>,
  ) {
    const interactionId = await interactions.begin(visit.browser, request, parameters);
    return describeInteraction(interactionId, request);
  }

  function refuseLogin(visit: Visit, request: CheckedRequest): Begun {
    const { tenantId, clientId } = request.record.application;
    audit.loginRequired(visit, tenantId, clientId);
    return { next: 'redirect', location: loginRequiredLocation(request) };
  }

  /** Single sign-on: where the browser goes; undefined when the session no longer counts, or not for this application. */
  async function issue(visit: Visit, request: CheckedRequest, session: Session): Promise<string | undefined> {
    const user = await records.user(session.tenantId, session.userId, visit.call.onward());
    if (user === undefined || !records.isActive(user, session.authTime)) return undefined;
    if (!records.isActive(request.record, session.authTime)) return undefined;
    // Also without prompt=none: signing in would lead the same person here again. prompt=login lets another one in.
    if (!records.mayUse(request.record.application, user)) {
      audit.accessDenied(visit, request.record.application, session);
      return accessDeniedLocation(request);
    }
    return codes.issue(visit, request, session);
  }

  return async (visit, { parameters, hintedUserId }) => {
    const lookup = { directory: records, call: visit.call.onward() };
    const request = await checkRequest({ parameters, issuer: visit.browser.issuer, hintedUserId }, lookup);
    if (isRefusal(request)) {
      audit.requestRejected(visit, request);
      if (request.location === undefined) throw request.error;
      return { next: 'redirect', location: request.location };
    }
    const session = await sessions.find(visit.browser);
    let step = nextStep(request, session);
    if (step === 'tenant_mismatch' && session !== undefined) {
      const { tenantId, clientId } = request.record.application;
      audit.tenantMismatch(visit, tenantId, clientId, session);
      return { next: 'tenant_mismatch', interaction: await interact(visit, request, parameters) };
    }
    if (step === 'issue_code' && session !== undefined) {
      const location = await issue(visit, request, session);
      if (location !== undefined) return { next: 'redirect', location };
      step = withoutSession(request);
    }
    if (step === 'login_required') return refuseLogin(visit, request);
    return { next: 'interaction', interaction: await interact(visit, request, parameters) };
  };
}
