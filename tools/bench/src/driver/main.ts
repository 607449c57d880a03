/** The process that sends the load. Its processor time is not counted. */
import { operationNamed } from '../operations/index.ts';
import { flood } from './flood.ts';
import { callLoop } from './call-loop.ts';
import { closedLoop } from './closed-loop.ts';
import type { DriverAnswer, DriverRequest, LoopResult } from './driver.ts';
import { failures } from './failures.ts';

let name = '';
let loop: ((seconds: number, share: number) => Promise<LoopResult>) | undefined;

async function perform(request: DriverRequest): Promise<unknown> {
  if (request.step === 'flood') return flood(request);
  if (request.step === 'loop') return awake(async () => loop?.(request.seconds, request.share));
  const { target, duration } = request;
  name = request.operation;
  const operation = operationNamed(request.operation);
  const prepare = target.kind === 'bare' ? operation.bare : operation.prepare;
  const load = await prepare?.(target, duration);
  const { inFlight = 32 } = operation;
  if (load?.kind === 'calls') loop = callLoop(load, inFlight);
  if (load?.kind === 'http')
    loop = (seconds, share) => closedLoop(target.baseUrl, load, { inFlight, seconds, share });
  return undefined;
}

/**
 * Keeps this process from sleeping while `work` runs. An answer sent to a process that sleeps costs its sender the
 * waking, on a virtual machine more than the answer itself; between machines there is no such cost.
 */
async function awake<T>(work: () => Promise<T>): Promise<T> {
  let isDone = false;
  const turn = (): void => {
    if (!isDone) setImmediate(turn);
  };
  turn();
  return work().finally(() => (isDone = true));
}

process.on('message', (request: DriverRequest) => {
  void perform(request)
    .then(
      (result): DriverAnswer => ({ result }),
      (error: unknown): DriverAnswer => ({
        failed: error instanceof Error ? (error.stack ?? error.message) : String(error),
      }),
    )
    .then((answer) => {
      const wrong = failures();
      if (wrong !== '') process.stderr.write(`        ${name}: ${wrong}\n`);
      process.send?.(answer);
    });
});
process.on('disconnect', () => process.exit(0));
