import type { DirectoryClient } from '@tessera/directory-client';
import type { Random } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import type { AuthorizeAudit } from '../audit.ts';
import type { Codes } from '../codes/codes.ts';
import type { BrowserCall } from '../browser-call.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Session } from '../store/session-store.ts';
import type { Visit } from '../store/visit-store.ts';
import type { SignInNotes } from './note-sign-in.ts';
import type { TellOfSignIn } from './tell-of-sign-in.ts';
import { createBegin, type Begin } from './begin.ts';
import { createContinue, type Continue } from './continue.ts';
import { createFinish } from './finish.ts';
import { nextPage } from './next.ts';
import type { Next, OwnPage, VisitsToPages } from './next.ts';
import { createPolicies } from './policies.ts';
import { isRecent, isSensitive } from './sensitive.ts';
import { enter, nextStep } from '../visits/step.ts';
import type { Step } from '../visits/step.ts';
import { withSession } from '../visits/visit.ts';
import { invalidContext, visitToPage } from '../visits/visits.ts';
import type { Visits } from '../visits/visits.ts';

/**
 * The one place that decides what comes next: a step judges its form and returns here, and no step knows another. Each
 * method throws OAuthError for what the browser sees as an error page.
 */
export interface Dispatcher {
  readonly begin: Begin;
  /** Begins a sign-in at a page of ours. It is stored if it can be, which only passkeys need. */
  beginAtPage(from: BrowserCall, page: OwnPage): Promise<Next>;
  /** What the page of a stored visit shows. */
  show(from: BrowserCall, interactionId: string): Promise<Next>;
  /** Whether a session is all that a page of ours needs. */
  isEnough(from: BrowserCall, session: Session, purpose?: OwnPage['purpose']): Promise<boolean>;
  /** Ignores a form for a step that is not due. */
  readonly continue: Continue;
}

export function createDispatcher(deps: {
  /** In the order in which they are taken. */
  readonly steps: readonly Step[];
  readonly directory: DirectoryClient;
  readonly sessions: Sessions;
  readonly visits: Visits;
  readonly codes: Codes;
  readonly audit: AuthorizeAudit;
  readonly tellOfSignIn: TellOfSignIn;
  readonly signInNotes: Pick<SignInNotes, 'note'>;
  readonly random: Random;
  readonly ignoreUnknownScopes: boolean;
}): Dispatcher {
  const { steps, directory, sessions, visits, random } = deps;
  const policies = createPolicies(deps);
  const finish = createFinish(deps);

  const visitTo: VisitsToPages = async ({ browser, call }, page) => {
    // Tenants that do not exist count as one: otherwise every invented name would have limits and audit rows of its
    // own.
    const isKnown = await directory.hasTenant(page.tenantId, call.onward());
    return visitToPage(browser, isKnown ? page : { ...page, tenantId: '' }, random);
  };

  async function shown(from: BrowserCall, visit: Visit, interactionId: string): Promise<Next> {
    const policy = await policies.of(from, visit);
    if ('next' in policy) return policy;
    const due = await nextStep(steps, from, visit, policy);
    if (due === undefined) throw invalidContext('no step is due');
    await policies.requirePerson(from, policy, visit);
    const entered = interactionId === '' ? visit : await enter(due, from, visit, policy);
    if (entered !== visit) await visits.update(interactionId, entered);
    return nextPage(due, { steps, from, visit: entered, policy, interactionId });
  }

  /**
   * Of a visit that changes how a person signs in: what is left to do for who has just signed in, `done` if that is
   * nothing.
   */
  async function sensitiveVisit(from: BrowserCall, visit: Visit): Promise<Visit | 'done'> {
    if (!isSensitive(visit.purpose)) return visit;
    const present = await sessions.find(from);
    if (present?.tenantId !== visit.tenantId || !isRecent(present)) return visit;
    const known = withSession(visit, present);
    const policy = await policies.of(from, known);
    if ('next' in policy || (await policies.person(from, policy, known.person)) === undefined) return visit;
    const due = await nextStep(steps, from, known, policy);
    if (due === undefined) return 'done';
    return due.isSetUp === true ? known : visit;
  }

  /** Its identifier; empty if it is not stored: a password can be entered all the same. */
  async function savedAtPage({ browser }: BrowserCall, visit: Visit): Promise<string> {
    try {
      return await visits.save(browser, visit);
    } catch (error) {
      const isBusy =
        error instanceof OAuthError && ['rate_limited', 'temporarily_unavailable'].includes(error.code);
      if (!isBusy) throw error;
      return '';
    }
  }

  return {
    begin: createBegin({ ...deps, policies, finish }),
    async beginAtPage(from, page) {
      const visit = await sensitiveVisit(from, await visitTo(from, page));
      if (visit === 'done') return { next: 'done' };
      return shown(from, visit, await savedAtPage(from, visit));
    },
    show: async (from, interactionId) =>
      shown(from, await visits.find(from.browser, interactionId), interactionId),
    async isEnough(from, session, purpose = 'approvals') {
      if (isSensitive(purpose) && !isRecent(session)) return false;
      const { tenantId } = session;
      const visit = withSession(visitToPage(from.browser, { purpose, tenantId }, random), session);
      const policy = await policies.of(from, visit);
      return 'tenantId' in policy && (await nextStep(steps, from, visit, policy)) === undefined;
    },
    continue: createContinue({ ...deps, policies, finish, visitTo }),
  };
}
