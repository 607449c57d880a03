import type { Trail } from './audit.ts';
import type { GrantRequest } from './store.ts';

/** A backchannel request that waits for a person who exists and is active. */
export interface Prompt {
  /** Of the start. */
  readonly trail: Trail;
  readonly request: GrantRequest;
  readonly application: { readonly name: string; readonly url: string };
  readonly userId: string;
  readonly username: string;
  readonly remainingSeconds: number;
}

/**
 * How a person hears of a backchannel request: one entry per value of an application's `ciba.approval`. It is only
 * called for people who are really prompted, so it must return before anything is sent: how long a start takes tells
 * its client nothing.
 */
export interface Notifier {
  notify(prompt: Prompt): void;
  /** The request that a decision link of this experience stands for; undefined for any other value. */
  decidedBy?(decisionToken: string): string | undefined;
}

export type ApprovalExperiences = ReadonlyMap<string, Notifier>;

/** The signed-in person's page asks for what waits; nothing is sent to it. */
export const page: Notifier = { notify: () => undefined };
