import type { DirectoryClient } from '@tessera/directory-client';
import type { User } from '@tessera/proto-gen/directory';
import type { AuthorizeAudit } from '../audit.ts';
import {
  accessDeniedLocation,
  checkRequest,
  isRefusal,
  loginRequiredLocation,
} from '../authorization/request.ts';
import type { CheckedRequest } from '../authorization/request.ts';
import type { Visit } from '../browser.ts';
import type { Codes } from '../authorization/codes.ts';
import type { Verified, VerifyCredentials } from './password-check.ts';
import { describeInteraction } from '../authorization/pending-requests.ts';
import type { InteractionView, Interactions } from '../authorization/pending-requests.ts';
import { isWanted } from '../sessions/session.ts';
import type { OpenedSession, Sessions } from '../sessions/sessions.ts';
import type { PendingRequest } from '../store/store.ts';

export interface SignInAttempt {
  readonly interactionId: string;
  readonly identifier: string;
  readonly password: string;
}

export type SignInOutcome =
  | { readonly outcome: 'signed_in'; readonly opened: OpenedSession; readonly location: string }
  | { readonly outcome: 'wrong_credentials' | 'tenant_mismatch'; readonly interaction: InteractionView }
  | Refused;

/** The request may no longer be served, and the client is told so. */
interface Refused {
  readonly outcome: 'refused';
  readonly location: string;
}

export interface SignIn {
  /** What the sign-in page shows for a pending request. */
  describe(
    visit: Visit,
    interactionId: string,
  ): Promise<{ readonly outcome: 'waiting'; readonly interaction: InteractionView } | Refused>;
  /** Signs a person in for a pending request and issues its code. */
  forRequest(visit: Visit, attempt: SignInAttempt): Promise<SignInOutcome>;
}

interface SignInDependencies {
  readonly records: DirectoryClient;
  readonly sessions: Sessions;
  readonly interactions: Interactions;
  readonly codes: Codes;
  readonly verifyCredentials: VerifyCredentials;
  readonly audit: AuthorizeAudit;
}

export function createSignIn(deps: SignInDependencies): SignIn {
  const { sessions, interactions, verifyCredentials, audit } = deps;
  return {
    async describe(visit, interactionId) {
      const pending = await interactions.find(visit.browser, interactionId);
      const request = await recheck(deps, visit, pending);
      if ('location' in request) return request;
      return { outcome: 'waiting', interaction: describeInteraction(interactionId, request) };
    },

    async forRequest(visit, { interactionId, identifier, password }) {
      const pending = await interactions.find(visit.browser, interactionId);
      const request = await recheck(deps, visit, pending);
      if ('location' in request) return request;
      const { tenantId, clientId } = request.record.application;
      const interaction = describeInteraction(interactionId, request);
      const present = await sessions.find(visit.browser);
      if (present !== undefined && present.tenantId !== tenantId) {
        audit.tenantMismatch(visit, tenantId, clientId, present);
        return { outcome: 'tenant_mismatch', interaction };
      }
      const verified = await verifyCredentials(visit, { tenantId, clientId, identifier, password });
      if (verified === undefined) return { outcome: 'wrong_credentials', interaction };
      const signedIn = signedInFor(verified, request);
      const opened = await sessions.open(visit, signedIn, clientId, present);
      const location = await complete(deps, visit, { interactionId, request, user: verified.user, opened });
      return { outcome: 'signed_in', opened, location };
    },
  };
}

/** Who signs in to an application in the second in which it was enabled again signs in after that. */
function signedInFor({ user, signedInAt }: Verified, { record }: CheckedRequest): Verified {
  const earliest = Number(record.application.validFrom) * 1000;
  return { user, signedInAt: signedInAt && Math.max(signedInAt, earliest) };
}

/** The same checks as at the start, over the records as they are now: nothing that was disabled since gets a code. */
async function recheck(
  { records, audit }: SignInDependencies,
  visit: Visit,
  pending: PendingRequest,
): Promise<CheckedRequest | Refused> {
  const lookup = { directory: records, call: visit.call.onward() };
  const request = await checkRequest(pending, lookup);
  if (isRefusal(request)) {
    audit.requestRejected(visit, request);
    if (request.location === undefined) throw request.error;
    return { outcome: 'refused', location: request.location };
  }
  if (request.record.tenant.tenantId !== pending.tenantId) {
    throw new Error('an application changed its tenant');
  }
  return request;
}

/**
 * Ends the context and issues the code; whoever signed in instead of the person the client asked for goes back without
 * one (OIDC Core §3.1.2.1), and so does who may not use the application, signed in as they are. The session comes before
 * this, so that trouble with its store leaves the context for another attempt; a session whose context is gone never
 * reaches the browser.
 */
async function complete(
  { records, sessions, interactions, codes, audit }: SignInDependencies,
  visit: Visit,
  asked: {
    readonly interactionId: string;
    readonly request: CheckedRequest;
    readonly user: User;
    readonly opened: OpenedSession;
  },
): Promise<string> {
  const { interactionId, request, user, opened } = asked;
  const { application } = request.record;
  try {
    await interactions.take(interactionId);
    if (!isWanted(request, opened.session)) {
      audit.loginRequired(visit, application.tenantId, application.clientId);
      return loginRequiredLocation(request);
    }
    if (!records.mayUse(application, user)) {
      audit.accessDenied(visit, application, opened.session);
      return accessDeniedLocation(request);
    }
    const location = await codes.issue(visit, request, opened.session);
    if (location !== undefined) return location;
  } catch (error) {
    await sessions.abandon(visit, opened.session);
    throw error;
  }
  throw new Error('a session that nobody holds was ended');
}
