import type { Answer } from '@tessera/test-client';
import type { Target } from '../target.ts';

/** One HTTP request, ready to send. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** As both the client and autocannon have it. */
export interface HttpAnswer extends Pick<Answer, 'status' | 'text'> {
  readonly headers: Readonly<Record<string, unknown>>;
}

/** Requests of one kind, endless or up to a limit. */
export interface HttpLoad {
  readonly kind: 'http';
  /** Number of requests; absent: unlimited. */
  readonly limit?: number;
  next(): HttpRequest;
  /** Whether a response is correct; takes from it what later requests need. */
  accept(answer: HttpAnswer): boolean;
}

/** Unary calls over gRPC. */
export interface CallLoad {
  readonly kind: 'calls';
  readonly target: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly method: string;
  next(): Buffer;
  accept(answer: Buffer): boolean;
}

export type Load = HttpLoad | CallLoad;

/**
 * Rounds of warm-up, each of some seconds, and the share of a limited number of requests that each uses, and that the
 * loops do which stand before those that are charged, all together.
 */
export const warmUp = { rounds: 5, seconds: 2, share: 0.3, shareBefore: 0.5 };

/** How many requests to prepare for a load of `limit` requests, if each can be sent once. */
export const withWarmUp = (limit: number): number =>
  Math.ceil(limit * (1 + warmUp.shareBefore + warmUp.rounds * warmUp.share)) + 100;

/** Prepares what the requests need, on the running system, for loops of some seconds in all. */
type Prepare = (target: Target, duration: number) => Promise<Load>;

export interface Operation {
  readonly prepare: Prepare;
  /** Whether the peer does it too; it takes the same requests. */
  readonly peer?: boolean;
  /** Requests to handlers of the bare libraries, if their cost is the lower bound of a target. */
  readonly bare?: Prepare;
  /** Requests in flight; 32 if absent. */
  readonly inFlight?: number;
  /** Needs gRPC listeners, which the compact topology does not have. */
  readonly splitOnly?: boolean;
  /** Needs a population that has what is recent. */
  readonly recent?: boolean;
}
