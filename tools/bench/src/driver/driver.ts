import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { OperationName } from '../operations/names.ts';
import type { Target } from '../target.ts';
import type { ClosedLoopResult, DriverAnswer, DriverRequest, OpenLoopResult } from './messages.ts';

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
  async closedLoop(seconds: number, share: number): Promise<ClosedLoopResult> {
    const answer = await this.#ask({ step: 'closed-loop', seconds, share });
    if (answer.step !== 'closed-loop') throw new Error('the driver answered something else');
    return answer;
  }

  async openLoop(seconds: number): Promise<OpenLoopResult> {
    const answer = await this.#ask({ step: 'open-loop', seconds });
    if (answer.step !== 'open-loop') throw new Error('the driver answered something else');
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
        if (answer.step === 'failed') reject(new Error(answer.message));
        else resolve(answer);
      });
      this.#child.send(request);
    });
  }
}
