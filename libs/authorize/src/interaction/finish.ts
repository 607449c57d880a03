import type { DirectoryClient } from '@tessera/directory-client';
import { OAuthError, type ClientRedirect } from '@tessera/oauth';
import type { User } from '@tessera/proto-gen/directory';
import type { AuthorizeAudit } from '../audit.ts';
import type { Codes, EndingWith, IssuedCode } from '../codes/codes.ts';
import { accessDeniedResponse, declinedResponse, loginRequiredResponse } from '../request/error-responses.ts';
import type { CheckedRequest } from '../request/request.ts';
import type { BrowserCall } from '../browser-call.ts';
import type { OpenedSession, Sessions } from '../sessions/sessions.ts';
import type { Session } from '../store/session-store.ts';
import type { KnownPerson, Visit } from '../store/visit-store.ts';
import type { SignInNotes } from './note-sign-in.ts';
import type { TellOfSignIn } from './tell-of-sign-in.ts';
import type { Policy } from '../visits/step.ts';
import { isHintedUser } from '../visits/visit.ts';
import { invalidContext } from '../visits/visits.ts';
import type { StoredVisit, Visits } from '../visits/visits.ts';

/** A visit whose last step was taken. */
export interface FinishedVisit extends StoredVisit {
  /** Empty for a visit that is not stored. */
  readonly interactionId: string;
  readonly policy: Policy;
  readonly person: KnownPerson;
  readonly user: User;
  /** The session that the browser has. */
  readonly present: Session | undefined;
  /** Whether the person denied the request. They stay signed in. */
  readonly declined: boolean;
}

export interface Finished {
  /** Undefined if the session that the browser has is the one that knows the person. */
  readonly opened: OpenedSession | undefined;
  /** The response to the client; undefined at our own pages. */
  readonly redirect: ClientRedirect | undefined;
}

export interface Finish {
  /**
   * Opens the session that the record of the visit describes, and issues the code if the visit is for one. The last
   * form may come again because the answer was lost: it gets a new code and session instead, unless the client has used
   * the code.
   */
  visit(from: BrowserCall, finished: FinishedVisit): Promise<Finished>;
  /**
   * The response to the client: a code, or an error for a person other than the hinted one (OIDC Core §3.1.2.1) and for
   * one whom the access policy excludes; both stay signed in. Undefined if the session has ended.
   * @param ending the visit that ends with the code
   */
  respond(
    from: BrowserCall,
    request: CheckedRequest,
    user: User,
    session: Session,
    ending?: EndingWith,
  ): Promise<IssuedCode | undefined>;
}

export interface FinishDeps {
  readonly directory: Pick<DirectoryClient, 'mayUse'>;
  readonly sessions: Pick<Sessions, 'open' | 'abandon'>;
  readonly visits: Pick<Visits, 'answer' | 'answerAgain' | 'ending'>;
  readonly codes: Pick<Codes, 'issue' | 'withdraw'>;
  readonly audit: Pick<AuthorizeAudit, 'loginRequired' | 'accessDenied'>;
  readonly tellOfSignIn: TellOfSignIn;
  readonly signInNotes: Pick<SignInNotes, 'note'>;
}

export function createFinish(deps: FinishDeps): Finish {
  const { directory, sessions, visits, codes, audit, tellOfSignIn, signInNotes } = deps;

  async function respond(
    from: BrowserCall,
    request: CheckedRequest,
    user: User,
    session: Session,
    ending?: EndingWith,
  ): Promise<IssuedCode | undefined> {
    const { application } = request.record;
    if (!isHintedUser(request, session)) {
      audit.loginRequired(from, application.tenantId, application.clientId);
      return { redirect: loginRequiredResponse(request), codeHash: '' };
    }
    if (!directory.mayUse(application, user)) {
      audit.accessDenied(from, application, session);
      return { redirect: accessDeniedResponse(request), codeHash: '' };
    }
    return codes.issue(from, request, session, ending);
  }

  /** Keeps the answer of a stored visit, for one caller. */
  async function keepAnswer(
    { interactionId, visit, before, user }: FinishedVisit,
    { sessionId }: Session,
    codeHash: string,
  ): Promise<void> {
    if (interactionId === '') return;
    const answer = { codeHash, sessionId, userId: user.userId };
    await unlessUnavailable(
      before === undefined
        ? visits.answer(interactionId, visit, answer)
        : visits.answerAgain(interactionId, visit, answer),
    );
  }

  /**
   * Issues the code and ends the visit, in one step where it can. The session is opened before, so that if a store
   * fails the visit is kept for another attempt; if the visit is gone, the session ends before it reaches the browser.
   */
  async function complete(
    from: BrowserCall,
    finished: FinishedVisit,
    session: Session,
  ): Promise<ClientRedirect | undefined> {
    const { request } = finished.policy;
    const { declined, interactionId, visit, before, user } = finished;
    if (request === undefined) {
      await keepAnswer(finished, session, '');
      return undefined;
    }
    const { sessionId } = session;
    const ending: EndingWith | undefined =
      before === undefined && interactionId !== ''
        ? (codeHash) => visits.ending(interactionId, visit, { codeHash, sessionId, userId: user.userId })
        : undefined;
    const issued = declined
      ? { redirect: declinedResponse(request), codeHash: '' }
      : await respond(from, request, user, session, ending);
    if (issued === undefined) throw invalidContext('the session has ended');
    const isEnded = ending !== undefined && issued.codeHash !== '';
    if (!isEnded) await keepAnswer(finished, session, issued.codeHash);
    return issued.redirect;
  }

  return {
    async visit(from, finished) {
      const { visit, before, policy, person, present } = finished;
      if (before !== undefined) await codes.withdraw(before.codeHash);
      if (present !== undefined && present.sessionId === person.sessionId) {
        return { opened: undefined, redirect: await complete(from, finished, present) };
      }
      const { tenantId } = policy;
      if (before === undefined && policy.sendsMail) await tellOfSignIn(from, finished.user);
      const opened = await sessions.open(from, signInOf(visit, person, policy), policy.clientId, present);
      if (before !== undefined && before.sessionId !== present?.sessionId)
        await sessions.abandon(from, { tenantId: visit.tenantId, ...before });
      try {
        const redirect = await complete(from, finished, opened.session);
        signInNotes.note({ tenantId, userId: person.userId });
        return { opened, redirect };
      } catch (error) {
        await sessions.abandon(from, opened.session);
        throw error;
      }
    },
    respond,
  };
}

/** A sign-in in the second in which its application was enabled again counts as later than that. */
function signInOf(
  { tenantId }: Visit,
  { userId, signedInAt, methods, upstream }: KnownPerson,
  { request }: Policy,
) {
  const earliest = Number(request?.record.application.validFrom ?? 0n) * 1000;
  return { tenantId, userId, methods, upstream, signedInAt: signedInAt && Math.max(signedInAt, earliest) };
}

/**
 * A visit that could not be ended expires. It may be gone all the same, so the response that is ready must not be lost.
 */
async function unlessUnavailable(ended: Promise<void>): Promise<void> {
  try {
    await ended;
  } catch (error) {
    if (!(error instanceof OAuthError && error.code === 'temporarily_unavailable')) throw error;
  }
}
