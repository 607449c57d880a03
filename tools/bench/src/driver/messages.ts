import type { OperationName } from '../operations/names.ts';
import type { Target } from '../target.ts';

/** Messages from the benchmark to a driver process, which answers each with one message. */
export type DriverRequest =
  | {
      readonly step: 'prepare';
      readonly operation: OperationName;
      readonly target: Target;
      readonly duration: number;
    }
  | { readonly step: 'closed-loop'; readonly seconds: number; readonly share: number }
  | { readonly step: 'open-loop'; readonly seconds: number };

export interface ClosedLoopResult {
  readonly operations: number;
  readonly errors: number;
  readonly seconds: number;
}

export interface OpenLoopResult {
  /** Requests a second. */
  readonly rate: number;
  readonly operations: number;
  readonly errors: number;
  /** Milliseconds from when a request was due, or sent if that was earlier, to its response. */
  readonly p50: number;
  readonly p99: number;
}

export type DriverAnswer =
  | { readonly step: 'prepare' }
  | ({ readonly step: 'closed-loop' } & ClosedLoopResult)
  | ({ readonly step: 'open-loop' } & OpenLoopResult)
  | { readonly step: 'failed'; readonly message: string };
