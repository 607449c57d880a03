import type { GrantRequest, Trail } from '../pending-grant.ts';

/** A backchannel request that was stored. */
export interface Announcement {
  /** Of the call that started it. */
  readonly trail: Trail;
  readonly request: GrantRequest;
  /** Undefined if no user is prompted. */
  readonly userId: string | undefined;
  readonly remainingSeconds: number;
}

/** How a person is prompted for a backchannel request: one entry per value of an application's `ciba.approval`. */
export interface ApprovalChannel {
  /**
   * Called for every request, even if no user is prompted, so that the response time reveals nothing to the client.
   * When it resolves, the announcement is durable.
   */
  announce?(announcement: Announcement): Promise<void>;
  /** The identifier of the request for a decision link of this channel; undefined for any other value. */
  decidedBy?(decisionToken: string): string | undefined;
}

export type ApprovalChannels = ReadonlyMap<string, ApprovalChannel>;

/** The page of the signed-in person lists the pending requests; nothing is sent. */
export const page: ApprovalChannel = {};
