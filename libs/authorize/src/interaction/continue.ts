import type { User } from '@tessera/proto-gen/directory';
import type { BrowserCall } from '../browser-call.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Visit } from '../store/visit-store.ts';
import type { Finish } from './finish.ts';
import { nextPage } from './next.ts';
import type { Continued, Submitted, VisitsToPages } from './next.ts';
import type { Policies } from './policies.ts';
import { enter, nextStep, requireFactors, stepOfForm } from '../visits/step.ts';
import type { Step } from '../visits/step.ts';
import { advance, withoutLostSession } from '../visits/visit.ts';
import { describeInteraction, invalidContext } from '../visits/visits.ts';
import type { StoredVisit, Visits } from '../visits/visits.ts';

/** Judges a form and says what comes next. */
export type Continue = (from: BrowserCall, submitted: Submitted) => Promise<Continued>;

export function createContinue(deps: {
  readonly steps: readonly Step[];
  readonly policies: Policies;
  readonly finish: Pick<Finish, 'visit'>;
  readonly sessions: Pick<Sessions, 'find'>;
  readonly visits: Visits;
  readonly visitTo: VisitsToPages;
}): Continue {
  const { steps, policies, finish, sessions, visits, visitTo } = deps;

  async function load(from: BrowserCall, { visit }: Submitted): Promise<StoredVisit> {
    if (typeof visit === 'string') return visits.findToContinue(from.browser, visit);
    return { visit: await visitTo(from, visit), before: undefined };
  }

  /** Saves a step that another one follows. */
  async function save(from: BrowserCall, visit: Visit, interactionId: string): Promise<string> {
    if (interactionId === '') return visits.save(from.browser, visit);
    await visits.update(interactionId, visit);
    return interactionId;
  }

  return async (from, submitted) => {
    const { visit: stored, before } = await load(from, submitted);
    const policy = await policies.of(from, stored);
    if ('next' in policy) return { next: policy };
    const interactionId = typeof submitted.visit === 'string' ? submitted.visit : '';
    const present = await sessions.find(from);
    if (policies.isElsewhere(from, policy, present))
      return { next: { next: 'tenant_mismatch', interaction: describeInteraction(interactionId, policy) } };
    const visit = withoutLostSession(stored, present, policy.request);
    const due = await nextStep(steps, from, visit, policy);
    const end = async (reached: Visit, verified?: User, declined = false): Promise<Continued> => {
      const { person } = reached;
      if (person === undefined) throw new Error('no step asks who the person is');
      requireFactors(policy, person);
      const user = verified ?? (await policies.person(from, policy, person));
      if (user === undefined) throw invalidContext('the sign-in of the person no longer counts');
      const finished = { visit, before, interactionId, policy, person, user, present, declined };
      const { opened, redirect } = await finish.visit(from, finished);
      return { next: redirect === undefined ? { next: 'done' } : { next: 'redirect', redirect }, opened };
    };
    // As when the answer to the last form was lost, and its step remembers for good what the person agreed to.
    const denied = steps.find(
      ({ name, denies }) => name === submitted.step && denies?.(submitted.fields) === true,
    );
    await policies.requirePerson(from, policy, visit);
    if (due === undefined) {
      await denied?.take(from, visit, policy, submitted.fields);
      return end(visit, undefined, denied !== undefined);
    }
    const at = { steps, from, visit, policy, interactionId };
    const taken = stepOfForm(steps, due, submitted.step);
    if (taken === undefined) {
      const entered = interactionId === '' ? visit : await enter(due, from, visit, policy);
      if (entered !== visit) await save(from, entered, interactionId);
      return { next: await nextPage(due, { ...at, visit: entered }) };
    }
    const result = await taken.take(from, visit, policy, submitted.fields);
    if (result.outcome === 'refused') return { next: await nextPage(due, at, result) };
    if (result.outcome === 'declined') return end(visit, undefined, true);
    if (result.outcome === 'sent') {
      const saved = await save(from, { ...visit, departure: result.departure }, interactionId);
      return {
        next: { next: 'redirect', redirect: { location: result.location(saved), formPost: undefined } },
      };
    }
    const isChanged = result.outcome === 'changed';
    const advanced = isChanged ? result.visit : advance(visit, taken.name, result);
    const following = await nextStep(steps, from, advanced, policy);
    if (following !== undefined) {
      const entered = await enter(following, from, advanced, policy);
      const reached = { ...at, visit: entered, interactionId: await save(from, entered, interactionId) };
      return { next: await nextPage(following, reached, isChanged ? { problem: result.problem ?? '' } : {}) };
    }
    // Who was known before this form may have been disabled meanwhile, or have changed the password.
    const isFirst = visit.person === undefined && result.outcome === 'verified';
    return end(advanced, isFirst ? result.user : undefined);
  };
}
