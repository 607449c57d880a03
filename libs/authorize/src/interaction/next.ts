import type { ClientRedirect } from '@tessera/oauth';
import type { BrowserCall } from '../browser-call.ts';
import type { OpenedSession } from '../sessions/sessions.ts';
import type { Purpose, Visit } from '../store/visit-store.ts';
import type { Fields, Policy, Step } from '../visits/step.ts';
import { describeInteraction } from '../visits/visits.ts';
import type { Interaction } from '../visits/visits.ts';

/** What comes next in a visit. */
export type Next =
  | {
      readonly next: 'step';
      /** Name of the step whose page is shown. */
      readonly step: string;
      /** What was wrong with its form; empty at first. */
      readonly problem: string;
      readonly shown: Fields;
      readonly interaction: Interaction;
    }
  /** The browser is signed in to another tenant. */
  | { readonly next: 'tenant_mismatch'; readonly interaction: Interaction }
  | { readonly next: 'redirect'; readonly redirect: ClientRedirect }
  /** Nothing more is required: the page of ours may be shown. */
  | { readonly next: 'done' };

/** A visit to a page of ours. */
export interface OwnPage {
  readonly purpose: Exclude<Purpose, 'code'>;
  /** As the form has it: it may name no tenant. */
  readonly tenantId: string;
  /** Application whose request the person decides there, as the form has it. Its policy counts too. */
  readonly clientId?: string;
}

/** The form of a step. */
export interface Submitted {
  /** The identifier of a stored visit, or the page of ours whose first form it is. */
  readonly visit: string | OwnPage;
  readonly step: string;
  readonly fields: Fields;
}

export interface Continued {
  readonly next: Next;
  /** The session that the browser gets. */
  readonly opened?: OpenedSession | undefined;
}

/** A new visit to a page of ours. */
export type VisitsToPages = (from: BrowserCall, page: OwnPage) => Promise<Visit>;

/**
 * The page of a step, with what those that may be taken in its place need. `interactionId` is empty for a visit that is
 * not stored.
 */
export async function nextPage(
  step: Step,
  at: {
    readonly steps: readonly Step[];
    readonly from: BrowserCall;
    readonly visit: Visit;
    readonly policy: Policy;
    readonly interactionId: string;
  },
  { problem = '' }: { readonly problem?: string } = {},
): Promise<Next> {
  const { steps, from, visit, policy, interactionId } = at;
  const interaction = describeInteraction(interactionId, policy);
  const page = { next: 'step', step: step.name, problem, interaction } as const;
  // A visit that is not stored is another one when its form comes, and accepts nothing that was asked for before.
  const others = steps.filter(
    ({ insteadOf, storesVisit }) =>
      insteadOf?.includes(step.name) === true && (interactionId !== '' || storesVisit === true),
  );
  const fields = await Promise.all([...others, step].map(async (one) => one.shown(from, visit, policy)));
  return { ...page, shown: Object.assign({}, ...fields) as Fields };
}
