import { hasNeededFactors, temporarilyUnavailable, type NeededFactors } from '@tessera/oauth';
import type { User } from '@tessera/proto-gen/directory';
import type { CheckedRequest } from '../request/request.ts';
import type { BrowserCall } from '../browser-call.ts';
import type { UpstreamSession } from '../store/session-store.ts';
import type { Departure, KnownPerson, Visit } from '../store/visit-store.ts';

/** What decides which steps a visit needs, by the current records. */
export interface Policy extends NeededFactors {
  readonly tenantId: string;
  /** Application that the person signs in to; empty at our own pages. */
  readonly clientId: string;
  /** Undefined at our own pages. */
  readonly request: CheckedRequest | undefined;
  /** Whether who has a second factor must use one. */
  readonly needsOwnFactor: boolean;
  /** Whether people of the tenant can be sent mail. */
  readonly sendsMail: boolean;
  /** Whether somebody may make an account there. */
  readonly registers: boolean;
  /**
   * Ways to sign in that the tenant allows besides the usual ones, by name. A step ignores those that it does not know.
   */
  readonly signInMethods: readonly string[];
}

/** What decides which steps are due: a visit without what is kept of it for its pages. */
export type KnownVisit = Omit<Visit, 'browserHash' | 'parameters' | 'seed'>;

/** The fields of a form, or what a page shows. */
export type Fields = Readonly<Record<string, string>>;

/** What a step found out. It never says what comes next. */
export type StepResult =
  | Verified
  /** The person agreed to something; it says nothing about who they are. */
  | { readonly outcome: 'agreed' }
  /** What the person sent is right, and counts once a later step has stored it. It says nothing about who they are. */
  | { readonly outcome: 'checked'; readonly learned: Pick<Visit, 'totpStep'> }
  /** Nothing was proven, and the visit goes on as `visit`, whose page says why by `problem`, if there is one. */
  | { readonly outcome: 'changed'; readonly visit: Visit; readonly problem?: string }
  /** The person denied what was asked. */
  | { readonly outcome: 'declined' }
  /** The person may try again; the page of the step knows the sentence for `problem`. */
  | { readonly outcome: 'refused'; readonly problem: string }
  /** The browser goes elsewhere, and comes back to the visit, whose identifier `location` is given. */
  | {
      readonly outcome: 'sent';
      readonly departure: Departure;
      readonly location: (interactionId: string) => string;
    };

/** Somebody proved to be `user`. */
export interface Verified {
  readonly outcome: 'verified';
  readonly user: User;
  /** When: milliseconds since the Unix epoch, by the directory's clock; undefined from a step that is never first. */
  readonly signedInAt: number | undefined;
  /** How: values of the `amr` claim (RFC 8176 §2). */
  readonly methods: readonly string[];
  /** What the visit also remembers. */
  readonly learned?: Pick<Visit, 'makesPasskeys'>;
  /** Of a person whom a provider identified. */
  readonly upstream?: UpstreamSession;
}

/** One page of a visit. */
export interface Step {
  /** Name of its page at the gateway. */
  readonly name: string;
  /**
   * A session is not enough to take it: the person signs in again first, so that an open browser does not lock its
   * owner out.
   */
  readonly needsFreshSignIn?: boolean;
  /** It asks nothing about who the person is, but sets something up for them. */
  readonly isSetUp?: boolean;
  /** The error for a request that lets us show nothing (OIDC Core §3.1.2.6); by default the person must interact. */
  readonly unaskedError?: 'consent_required';
  /** Names of the steps in whose place a person may take it, on their pages. */
  readonly insteadOf?: readonly string[];
  /** Whether it may be begun in place of another in a visit that is not stored, and is stored by it. */
  readonly storesVisit?: boolean;
  /** Whether the person must take it before the visit can end. */
  isDue(from: BrowserCall, visit: KnownVisit, policy: Policy): boolean | Promise<boolean>;
  /**
   * Sends what the person needs to take it, when its page is the next one, once for a visit. Returns what the visit
   * remembers of it, in words of the step. A visit that is not stored is not entered.
   */
  enter?(from: BrowserCall, visit: Visit, policy: Policy): Promise<string>;
  /** What its page shows in addition to the visit. */
  shown(from: BrowserCall, visit: Visit, policy: Policy): Fields | Promise<Fields>;
  /**
   * Whether a form denies what the step asks. It counts even if the step is no longer due, as after an answer in
   * another tab.
   */
  denies?(fields: Fields): boolean;
  /** Judges what the person entered. Throws OAuthError for what no further form can change. */
  take(from: BrowserCall, visit: Visit, policy: Policy, fields: Fields): Promise<StepResult>;
}

/** The first step of the table that is due; undefined if the visit can end. */
export async function nextStep(
  steps: readonly Step[],
  from: BrowserCall,
  visit: KnownVisit,
  policy: Policy,
): Promise<Step | undefined> {
  for (const step of steps) if (await step.isDue(from, visit, policy)) return step;
  return undefined;
}

/** The visit once it has reached the page of a step. */
export async function enter(step: Step, from: BrowserCall, visit: Visit, policy: Policy): Promise<Visit> {
  if (step.enter === undefined || visit.sent?.[step.name] !== undefined) return visit;
  const sent = await step.enter(from, visit, policy);
  return { ...visit, sent: { ...visit.sent, [step.name]: sent } };
}

/** The step that a form is for: the one that is due, or one that may be taken in its place; undefined for any other. */
export function stepOfForm(steps: readonly Step[], due: Step, name: string): Step | undefined {
  return [due, ...steps.filter(({ insteadOf }) => insteadOf?.includes(due.name) === true)].find(
    (step) => step.name === name,
  );
}

/**
 * Throws `temporarily_unavailable` if the steps let a person pass with fewer factors than are needed, as records may be
 * out of date.
 */
export function requireFactors(policy: Policy, { methods }: KnownPerson): void {
  if (!hasNeededFactors(policy, methods))
    throw temporarilyUnavailable(new Error('a second factor is missing'));
}
