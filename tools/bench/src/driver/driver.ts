import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { OperationName } from '../operations/index.ts';
import type { Target } from '../target.ts';
import type { DriverAnswer, DriverRequest, LoopResult } from './messages.ts';

const entry = fileURLToPath(new URL('main.ts', import.meta.url));

/** A process that drives one operation. */
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
    const answer = await this.#ask({ step: 'loop', seconds, share });
    if (!('operations' in answer)) throw new Error('the driver answered something else');
    return answer;
  }

  stop(): void {
    this.#child.disconnect();
  }

  #ask(request: DriverRequest): Promise<DriverAnswer> {
    return new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error('the driver ended'));
      this.#child.once('exit', ended);
      this.#child.once('message', (answer: DriverAnswer) => {
        this.#child.off('exit', ended);
        if ('failed' in answer) reject(new Error(answer.failed));
        else resolve(answer);
      });
      this.#child.send(request);
    });
  }
}
