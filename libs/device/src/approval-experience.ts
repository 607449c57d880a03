import type { GrantRequest } from './store.ts';

/** A backchannel request that waits for a person who exists and is active. */
export interface Prompt {
  readonly request: GrantRequest;
  readonly userId: string;
  readonly remainingSeconds: number;
}

/**
 * How a person hears of a backchannel request: one entry per value of an application's `ciba.approval`. It is only
 * called for people who are really prompted, so it must return before anything is sent: how long a start takes tells
 * its client nothing.
 */
export interface Notifier {
  notify(prompt: Prompt): void;
}

export type ApprovalExperiences = ReadonlyMap<string, Notifier>;

/** The signed-in person's page asks for what waits; nothing is sent to it. */
const page: Notifier = { notify: () => undefined };

/** The experiences this service offers. */
export const approvalExperiences: ApprovalExperiences = new Map([['page', page]]);
