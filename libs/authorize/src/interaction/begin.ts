import type { Random } from '@tessera/kit';
import type { AuthorizeAudit } from '../audit.ts';
import {
  consentRequiredResponse,
  interactionRequiredResponse,
  loginRequiredResponse,
} from '../request/error-responses.ts';
import type { AskedRequest } from '../request/request.ts';
import type { BrowserCall } from '../browser-call.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Session } from '../store/session-store.ts';
import type { Finish } from './finish.ts';
import { nextPage } from './next.ts';
import type { Next } from './next.ts';
import type { Policies, PolicyOfRequest, ToClient } from './policies.ts';
import { enter, nextStep, requireFactors } from '../visits/step.ts';
import type { KnownVisit, Step } from '../visits/step.ts';
import { serves, withSession } from '../visits/visit.ts';
import { describeInteraction, keptVisit, knownOfRequest } from '../visits/visits.ts';
import type { Visits } from '../visits/visits.ts';

/** Serves an authorization request (RFC 6749 §4.1.1, OIDC Core §3.1.2). */
export type Begin = (from: BrowserCall, asked: Omit<AskedRequest, 'issuer'>) => Promise<Next>;

export function createBegin(deps: {
  readonly steps: readonly Step[];
  readonly policies: Policies;
  readonly finish: Pick<Finish, 'respond'>;
  readonly sessions: Pick<Sessions, 'find'>;
  readonly visits: Pick<Visits, 'save'>;
  readonly audit: Pick<AuthorizeAudit, 'loginRequired'>;
  readonly random: Random;
}): Begin {
  const { steps, policies, finish, sessions, visits, audit, random } = deps;

  /** With a session that leaves nothing to ask, the response to the client; else the visit as far as it is known. */
  async function withSessionOf(
    from: BrowserCall,
    policy: PolicyOfRequest,
    fresh: KnownVisit,
    session: Session,
  ): Promise<ToClient | KnownVisit> {
    const visit = withSession(fresh, session);
    const user = await policies.person(from, policy, visit.person);
    if (user === undefined) return fresh;
    const due = await nextStep(steps, from, visit, policy);
    if (due !== undefined) return due.needsFreshSignIn === true ? fresh : visit;
    requireFactors(policy, visit.person);
    // Even without prompt=none: the same person would end up here again. With prompt=login another person can sign in.
    const issued = await finish.respond(from, policy.request, user, session);
    return issued === undefined ? fresh : { next: 'redirect', redirect: issued.redirect };
  }

  /** The response to a request that lets us show nothing (OIDC Core §3.1.2.6). */
  function refuseToAsk(
    from: BrowserCall,
    { tenantId, clientId, request }: PolicyOfRequest,
    { person }: KnownVisit,
    due: Step,
  ): Next {
    audit.loginRequired(from, tenantId, clientId);
    const ofKnown =
      due.unaskedError === 'consent_required' ? consentRequiredResponse : interactionRequiredResponse;
    const respond = person === undefined ? loginRequiredResponse : ofKnown;
    return { next: 'redirect', redirect: respond(request) };
  }

  return async (from, asked) => {
    const policy = await policies.ofRequest(from, { ...asked, issuer: from.browser.issuer });
    if ('next' in policy) return policy;
    const { request } = policy;
    const fresh = knownOfRequest(request);
    const keep = (known: KnownVisit) => keptVisit(from.browser, { known, request, asked, random });
    const present = await sessions.find(from);
    if (policies.isElsewhere(from, policy, present))
      return {
        next: 'tenant_mismatch',
        interaction: describeInteraction(await visits.save(from.browser, keep(fresh)), policy),
      };
    const isServed = present !== undefined && serves(request, present);
    const known = isServed ? await withSessionOf(from, policy, fresh, present) : fresh;
    if ('next' in known) return known;
    const due = await nextStep(steps, from, known, policy);
    if (due === undefined) throw new Error('no step asks who the person is');
    if (request.prompt.has('none')) return refuseToAsk(from, policy, known, due);
    const visit = await enter(due, from, keep(known), policy);
    const interactionId = await visits.save(from.browser, visit);
    return nextPage(due, { steps, from, visit, policy, interactionId });
  };
}
