import type { OperationName } from './names.ts';
import type { Target } from '../target.ts';

/** One HTTP request, ready to send. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Requests of one kind, without end or up to a limit. */
export interface HttpLoad {
  readonly kind: 'http';
  /** How many requests there are; absent: any number. */
  readonly limit?: number;
  next(): HttpRequest;
  /** Whether an answer is the right one; takes from it what later requests need. */
  accept(answer: HttpAnswer): boolean;
}

/** Unary calls over gRPC. */
export interface CallLoad {
  readonly kind: 'calls';
  readonly target: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly method: string;
  /** Operations that one call counts for. */
  readonly perCall: number;
  next(): Buffer;
  accept(answer: Buffer): boolean;
}

export type Load = HttpLoad | CallLoad;

/** Rounds of warming up at most, and how much of a limited number of requests each of them uses. */
export const warmUpRounds = 5;
export const warmUpShare = 0.3;

/** Requests that are needed beside those that are measured, where each can be sent once. */
export const warmUpOf = (limit: number): number => limit * warmUpRounds * warmUpShare;

export interface Sizing {
  /** Seconds of each of the two measurements, closed and open loop. */
  readonly duration: number;
  /** Requests a second in the open loop. */
  readonly rate: number;
}

export interface Operation {
  readonly name: OperationName;
  /** Requests in flight in the closed loop. */
  readonly inFlight: number;
  /** Requests a second in the open loop. */
  readonly rate: number;
  /** Prepares what the requests need, on the running system. */
  ours(target: Target, sizing: Sizing): Promise<Load>;
  /** The same work done by the peer, where it does it at all. */
  peers?: (target: Target, sizing: Sizing) => Promise<Load>;
  /** The same requests to handlers of the bare libraries, where their cost is the floor of a target. */
  bare?: (target: Target, sizing: Sizing) => Promise<Load>;
  /** Needs the listeners for calls, which the compact topology does not have. */
  readonly splitOnly?: boolean;
}
