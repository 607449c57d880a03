import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { OperationName } from '../operations/index.ts';
import type { FloodRequest, FloodResult } from './flood.ts';
import type { Target } from '../target.ts';

export interface LoopResult {
  readonly operations: number;
  readonly errors: number;
  readonly seconds: number;
}

/** What a driver process is asked for; it answers each with one message. */
export type DriverRequest =
  | {
      readonly step: 'prepare';
      readonly operation: OperationName;
      readonly target: Target;
      readonly duration: number;
    }
  | { readonly step: 'loop'; readonly seconds: number; readonly share: number }
  | ({ readonly step: 'flood' } & FloodRequest);

export interface DriverAnswer {
  readonly result?: unknown;
  readonly failed?: string;
}

const entry = fileURLToPath(new URL('main.ts', import.meta.url));

/** A process of clients, which drives one operation or floods a system. */
export class Driver {
  readonly #child: ChildProcess = fork(entry, {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });

  async prepare(operation: OperationName, target: Target, duration: number): Promise<void> {
    await this.#ask({ step: 'prepare', operation, target, duration });
  }

  /** `share`: the share of prepared one-time values that may be used. */
  async loop(seconds: number, share: number): Promise<LoopResult> {
    return (await this.#ask({ step: 'loop', seconds, share })) as LoopResult;
  }

  async flood(request: FloodRequest): Promise<FloodResult> {
    return (await this.#ask({ step: 'flood', ...request })) as FloodResult;
  }

  stop(): void {
    this.#child.disconnect();
  }

  #ask(request: DriverRequest): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error('the driver ended'));
      this.#child.once('exit', ended);
      this.#child.once('message', ({ failed, result }: DriverAnswer) => {
        this.#child.off('exit', ended);
        if (failed === undefined) resolve(result);
        else reject(new Error(failed));
      });
      this.#child.send(request);
    });
  }
}
