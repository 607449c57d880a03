import type { Trail } from '../audit.ts';
import type { GrantRequest } from '../store/store.ts';

/** A backchannel request that was kept. */
export interface Announcement {
  /** Of the start. */
  readonly trail: Trail;
  readonly request: GrantRequest;
  /** Undefined when it waits for nobody. */
  readonly userId: string | undefined;
  readonly remainingSeconds: number;
}

/** How a person hears of a backchannel request: one entry per value of an application's `ciba.approval`. */
export interface Experience {
  /**
   * Called for every request, also one that waits for nobody, and takes the same time for both: how long a start takes
   * tells its client nothing. What it resolves with is kept, whatever happens to the process.
   */
  announce?(announcement: Announcement): Promise<void>;
  /** The request that a decision link of this experience stands for; undefined for any other value. */
  decidedBy?(decisionToken: string): string | undefined;
}

export type ApprovalExperiences = ReadonlyMap<string, Experience>;

/** The signed-in person's page asks for what waits; nothing is sent to it. */
export const page: Experience = {};
