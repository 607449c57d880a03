import type { OperationName } from '../operations/index.ts';
import type { Target } from '../target.ts';

/** Messages from the benchmark to a driver process, which answers each with one message. */
export type DriverRequest =
  | {
      readonly step: 'prepare';
      readonly operation: OperationName;
      readonly target: Target;
      readonly duration: number;
    }
  | { readonly step: 'loop'; readonly seconds: number; readonly share: number };

export interface LoopResult {
  readonly operations: number;
  readonly errors: number;
  readonly seconds: number;
}

export type DriverAnswer = LoopResult | { readonly prepared: true } | { readonly failed: string };
