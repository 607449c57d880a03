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
  /** Operations per call. */
  readonly perCall: number;
  next(): Buffer;
  accept(answer: Buffer): boolean;
}

export type Load = HttpLoad | CallLoad;

/** Maximum number of warm-up rounds, and the share of a limited number of requests that each uses. */
export const warmUpRounds = 5;
export const warmUpShare = 0.3;

/** Additional requests besides the measured ones, if each can be sent once. */
export const warmUpOf = (limit: number): number => limit * warmUpRounds * warmUpShare;

/** Prepares what the requests need, on the running system, for loops of some seconds in all. */
type Prepare = (target: Target, duration: number) => Promise<Load>;

export interface Operation {
  /** Requests in flight; 32 if absent. */
  readonly inFlight?: number;
  readonly ours: Prepare;
  /** The same work on the peer, if it supports it. */
  readonly peers?: Prepare;
  /** The same requests to handlers of the bare libraries, if their cost is the lower bound of a target. */
  readonly bare?: Prepare;
  /** Needs gRPC listeners, which the compact topology does not have. */
  readonly splitOnly?: boolean;
}

export type Operations = Readonly<Record<string, Operation>>;
