import type { DirectoryClient } from '@tessera/directory-client';
import type { ClientRedirect } from '@tessera/oauth';
import type { AuthorizeAudit } from '../audit.ts';
import type { Codes } from '../authorization/codes.ts';
import type { BrowserCall } from '../browser.ts';
import type { OpenedSession, Sessions } from '../sessions/sessions.ts';
import type { Purpose, Visit } from '../store/store.ts';
import { createBegin, type Begin } from './begin.ts';
import { createContinue, type Continue } from './continue.ts';
import { createFinish } from './finish.ts';
import { createPolicies } from './policies.ts';
import { nextStep } from './step.ts';
import type { Fields, Step } from './step.ts';
import { describeInteraction, invalidContext, visitToPage } from './visits.ts';
import type { Interaction, Visits } from './visits.ts';

/** What comes next in a visit. */
export type Next =
  | {
      readonly next: 'step';
      /** Name of the step whose page is shown. */
      readonly step: string;
      /** What was wrong with its form; empty at first. */
      readonly problem: string;
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

/**
 * The one place that decides what comes next: a step judges its form and returns here, and no step knows another. Each method throws
 * OAuthError for what the browser sees as an error page.
 */
export interface Dispatcher {
  readonly begin: Begin;
  /** Begins a sign-in at a page of ours. Nothing is stored. */
  beginAtPage(from: BrowserCall, page: OwnPage): Promise<Next>;
  /** What the page of a stored visit shows. */
  show(from: BrowserCall, interactionId: string): Promise<Next>;
  /** The form of another step than the one that is due is not judged. */
  readonly continue: Continue;
}

/** A new visit to a page of ours. */
export type VisitsToPages = (from: BrowserCall, page: OwnPage) => Promise<Visit>;

export function createDispatcher(deps: {
  /** In the order in which they are taken. */
  readonly steps: readonly Step[];
  readonly directory: DirectoryClient;
  readonly sessions: Sessions;
  readonly visits: Visits;
  readonly codes: Codes;
  readonly audit: AuthorizeAudit;
  readonly ignoreUnknownScopes: boolean;
}): Dispatcher {
  const { steps, directory, visits } = deps;
  const policies = createPolicies(deps);
  const finish = createFinish(deps);

  const visitTo: VisitsToPages = async ({ browser, call }, { purpose, tenantId }) => {
    // Tenants that do not exist count as one: otherwise every invented name would have limits and audit rows of its own.
    const isKnown = await directory.hasTenant(tenantId, call.onward());
    return visitToPage(browser, purpose, isKnown ? tenantId : '');
  };

  async function shown(from: BrowserCall, visit: Visit, interactionId: string): Promise<Next> {
    const policy = await policies.of(from, visit);
    if ('next' in policy) return policy;
    const due = await nextStep(steps, visit, policy);
    if (due === undefined) throw invalidContext('no step is due');
    const interaction = describeInteraction(interactionId, policy);
    return { next: 'step', step: due.name, problem: '', interaction };
  }

  return {
    begin: createBegin({ ...deps, policies, finish }),
    beginAtPage: async (from, page) => shown(from, await visitTo(from, page), ''),
    show: async (from, interactionId) =>
      shown(from, await visits.find(from.browser, interactionId), interactionId),
    continue: createContinue({ ...deps, policies, finish, visitTo }),
  };
}
