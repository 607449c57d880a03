import type { DirectoryClient } from '@tessera/directory-client';
import { OAuthError, type ClientRedirect } from '@tessera/oauth';
import type { User } from '@tessera/proto-gen/directory';
import type { AuthorizeAudit } from '../audit.ts';
import {
  accessDeniedResponse,
  checkRequest,
  isRefusal,
  loginRequiredResponse,
} from '../authorization/request.ts';
import type { CheckedRequest } from '../authorization/request.ts';
import type { BrowserCall } from '../browser.ts';
import type { Codes, IssuedCode } from '../authorization/codes.ts';
import type { CheckedUser, CheckPassword } from './password-check.ts';
import { describeInteraction } from '../authorization/pending-requests.ts';
import type { Interaction, PendingRequests, RequestToSignIn } from '../authorization/pending-requests.ts';
import { isHintedUser } from '../authorization/next-step.ts';
import type { OpenedSession, Sessions } from '../sessions/sessions.ts';
import type { PendingRequest } from '../store/store.ts';

export interface SignInAttempt {
  readonly interactionId: string;
  readonly identifier: string;
  readonly password: string;
}

export type SignInOutcome =
  | { readonly outcome: 'signed_in'; readonly opened: OpenedSession; readonly redirect: ClientRedirect }
  | { readonly outcome: 'wrong_credentials' | 'tenant_mismatch'; readonly interaction: Interaction }
  | Refused;

/** The request may no longer be served; the browser takes the error to the client. */
interface Refused {
  readonly outcome: 'refused';
  readonly redirect: ClientRedirect;
}

export interface SignIn {
  /** Describes a pending request for the sign-in page. */
  describe(
    from: BrowserCall,
    interactionId: string,
  ): Promise<{ readonly outcome: 'pending'; readonly interaction: Interaction } | Refused>;
  /**
   * Signs a person in for a pending request and issues its code. The same form may come again because the answer was lost: it gets a
   * new code and session instead, unless the client has used the code.
   */
  forRequest(from: BrowserCall, attempt: SignInAttempt): Promise<SignInOutcome>;
}

interface SignInDependencies {
  readonly directory: DirectoryClient;
  readonly sessions: Sessions;
  readonly pendingRequests: PendingRequests;
  readonly codes: Codes;
  readonly checkPassword: CheckPassword;
  readonly audit: AuthorizeAudit;
  readonly ignoreUnknownScopes: boolean;
}

export function createSignIn(deps: SignInDependencies): SignIn {
  const { sessions, pendingRequests, codes, checkPassword, audit } = deps;
  return {
    async describe(from, interactionId) {
      const pending = await pendingRequests.find(from.browser, interactionId);
      const request = await recheck(deps, from, pending);
      if ('redirect' in request) return request;
      return { outcome: 'pending', interaction: describeInteraction(interactionId, request) };
    },

    async forRequest(from, { interactionId, identifier, password }) {
      const { pending, before } = await pendingRequests.findToSignIn(from.browser, interactionId);
      const request = await recheck(deps, from, pending);
      if ('redirect' in request) return request;
      const { tenantId, clientId } = request.record.application;
      const interaction = describeInteraction(interactionId, request);
      const present = await sessions.find(from);
      if (present !== undefined && present.tenantId !== tenantId) {
        audit.tenantMismatch(from, tenantId, clientId, present);
        return { outcome: 'tenant_mismatch', interaction };
      }
      const verified = await checkPassword(from, { tenantId, clientId, identifier, password });
      if (verified === undefined) return { outcome: 'wrong_credentials', interaction };
      if (before !== undefined) await codes.withdraw(before.codeHash);
      const signedIn = signedInFor(verified, request);
      const opened = await sessions.open(from, signedIn, clientId, present);
      if (before !== undefined && before.sessionId !== present?.sessionId)
        await sessions.abandon(from, { tenantId, ...before });
      const { user } = verified;
      const redirect = await complete(deps, from, { interactionId, pending, before, request, user, opened });
      return { outcome: 'signed_in', opened, redirect };
    },
  };
}

/** A sign-in in the second in which its application was enabled again counts as later than that. */
function signedInFor(verified: CheckedUser, { record }: CheckedRequest): CheckedUser {
  const earliest = Number(record.application.validFrom) * 1000;
  const { signedInAt } = verified;
  return { ...verified, signedInAt: signedInAt && Math.max(signedInAt, earliest) };
}

/** Repeats the checks with the current records: a request of anything disabled since gets no code. */
async function recheck(
  { directory, audit, ignoreUnknownScopes }: SignInDependencies,
  from: BrowserCall,
  pending: PendingRequest,
): Promise<CheckedRequest | Refused> {
  const { tenantId } = from.browser;
  const lookup = { directory, call: from.call.onward(), ignoreUnknownScopes, tenantId };
  const request = await checkRequest(pending, lookup);
  if (isRefusal(request)) {
    audit.requestRejected(from, request);
    if (request.redirect === undefined) throw request.error;
    return { outcome: 'refused', redirect: request.redirect };
  }
  if (request.record.tenant.tenantId !== pending.tenantId) {
    throw new Error('an application changed its tenant');
  }
  return request;
}

interface SignedInRequest extends RequestToSignIn {
  readonly interactionId: string;
  readonly request: CheckedRequest;
  readonly user: User;
  readonly opened: OpenedSession;
}

/**
 * Issues the code and removes the pending request. The session is opened before and the request removed last, so that if a store
 * fails the request is kept for another attempt; if the request is gone, the session ends before it reaches the browser.
 */
async function complete(
  deps: SignInDependencies,
  from: BrowserCall,
  signedIn: SignedInRequest,
): Promise<ClientRedirect> {
  const { sessions, pendingRequests } = deps;
  const { interactionId, pending, before, user, opened } = signedIn;
  const { sessionId } = opened.session;
  try {
    const { redirect, codeHash } = await respond(deps, from, signedIn);
    const answer = { codeHash, sessionId, userId: user.userId };
    await unlessUnavailable(
      before === undefined
        ? pendingRequests.answer(interactionId, pending, answer)
        : pendingRequests.answerAgain(interactionId, pending, answer),
    );
    return redirect;
  } catch (error) {
    await sessions.abandon(from, opened.session);
    throw error;
  }
}

/**
 * The response to the client: a code, or an error for a person other than the hinted one (OIDC Core §3.1.2.1) and for one whom the
 * access policy excludes; both stay signed in.
 */
async function respond(
  { directory, codes, audit }: SignInDependencies,
  from: BrowserCall,
  { request, user, opened }: SignedInRequest,
): Promise<IssuedCode> {
  const { application } = request.record;
  if (!isHintedUser(request, opened.session)) {
    audit.loginRequired(from, application.tenantId, application.clientId);
    return { redirect: loginRequiredResponse(request), codeHash: '' };
  }
  if (!directory.mayUse(application, user)) {
    audit.accessDenied(from, application, opened.session);
    return { redirect: accessDeniedResponse(request), codeHash: '' };
  }
  const issued = await codes.issue(from, request, opened.session);
  if (issued === undefined) throw new Error('a session that nobody holds was ended');
  return issued;
}

/** A request that could not be removed expires. It may be gone all the same, so the response that is ready must not be lost. */
async function unlessUnavailable(removal: Promise<void>): Promise<void> {
  try {
    await removal;
  } catch (error) {
    if (!(error instanceof OAuthError && error.code === 'temporarily_unavailable')) throw error;
  }
}
