import type { BrowserCall } from '../browser-call.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Continued } from './next.ts';
import type { Fields } from '../visits/step.ts';
import { invalidContext, type Visits } from '../visits/visits.ts';
import type { Departure, Visit } from '../store/visit-store.ts';
import { readState } from '../methods/upstream/departure.ts';

/** What a browser brings back, and to the address of which provider. */
export interface BroughtBack {
  readonly tenantId: string;
  readonly provider: string;
  /** The query, as it was sent. */
  readonly query: string;
}

/** What came of it. `linkProblem`: of a link, empty if the provider is linked now. */
export type Answered = Continued & { readonly resume: string; readonly linkProblem?: string };

/**
 * Continues the visit that a browser left for a provider. Throws `invalid_request` for an answer that nobody asked for
 * in this browser (login CSRF), and for one to a link that nobody asked for in its session.
 */
export type AnswerFromProvider = (from: BrowserCall, answer: BroughtBack) => Promise<Answered>;

/** Judges the answer to a link. Returns why nothing is linked; empty if it is. */
export type FinishLink = (
  from: BrowserCall,
  visit: Visit & { readonly departure: Departure },
  fields: Fields,
) => Promise<string>;

export function createAnswerFromProvider(deps: {
  readonly visits: Pick<Visits, 'findToContinue'>;
  readonly dispatcher: Pick<Dispatcher, 'continue'>;
  readonly finishLink: FinishLink;
}): AnswerFromProvider {
  const { visits, dispatcher, finishLink } = deps;
  return async (from, { tenantId: tenant, provider, query }) => {
    const state = readState(query);
    if (state === undefined) throw invalidContext('the answer of a provider has no state of ours');
    const { visit } = await visits.findToContinue(from.browser, state.interactionId);
    const { departure } = visit;
    if (departure === undefined) throw invalidContext('the browser was not sent to a provider');
    const { resume } = departure;
    const fields = { answer: query, tenant, provider };
    if (departure.linkSessionId !== undefined) {
      const linkProblem = await finishLink(from, { ...visit, departure }, fields);
      return { next: { next: 'done' }, resume, linkProblem };
    }
    const continued = await dispatcher.continue(from, {
      visit: state.interactionId,
      step: 'provider',
      fields,
    });
    return { ...continued, resume };
  };
}
