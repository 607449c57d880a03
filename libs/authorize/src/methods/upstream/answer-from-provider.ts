import type { BrowserCall } from '../../browser-call.ts';
import type { Dispatcher } from '../../interaction/dispatcher.ts';
import type { Continued } from '../../interaction/next.ts';
import { invalidContext, type Visits } from '../../interaction/visits.ts';
import { readState } from './departure.ts';

/** What a browser brings back, and to the address of which provider. */
export interface BroughtBack {
  readonly tenantId: string;
  readonly provider: string;
  /** The query, as it was sent. */
  readonly query: string;
}

/**
 * Continues the visit that a browser left for a provider. Throws `invalid_request` for an answer that nobody asked for in this browser (login
 * CSRF).
 */
export type AnswerFromProvider = (
  from: BrowserCall,
  answer: BroughtBack,
) => Promise<Continued & { readonly resume: string }>;

export function createAnswerFromProvider(deps: {
  readonly visits: Pick<Visits, 'findToContinue'>;
  readonly dispatcher: Pick<Dispatcher, 'continue'>;
}): AnswerFromProvider {
  const { visits, dispatcher } = deps;
  return async (from, { tenantId: tenant, provider, query }) => {
    const state = readState(query);
    if (state === undefined) throw invalidContext('the answer of a provider has no state of ours');
    const { visit } = await visits.findToContinue(from.browser, state.interactionId);
    if (visit.departure === undefined) throw invalidContext('the browser was not sent to a provider');
    const fields = { answer: query, tenant, provider };
    const continued = await dispatcher.continue(from, {
      visit: state.interactionId,
      step: 'provider',
      fields,
    });
    return { ...continued, resume: visit.departure.resume };
  };
}
