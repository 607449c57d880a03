/** The process that sends the load. Its processor time is not counted. */
import { operationNamed, type OperationName } from '../operations/index.ts';
import { awake } from './awake.ts';
import { Caller } from './calls.ts';
import { closedLoop } from './closed-loop.ts';
import { failures } from './failures.ts';
import type { DriverAnswer, DriverRequest, LoopResult } from './messages.ts';

let name: OperationName | undefined;
let loop: ((seconds: number, share: number) => Promise<LoopResult>) | undefined;

async function perform(request: DriverRequest): Promise<DriverAnswer> {
  if (request.step === 'prepare') {
    const { target, duration } = request;
    name = request.operation;
    const operation = operationNamed(name);
    const prepare = { tessera: operation.ours, peer: operation.peers, bare: operation.bare }[target.kind];
    if (prepare === undefined) throw new Error(`there is no such operation on ${target.kind}`);
    const load = await prepare(target, duration);
    const { inFlight = 32 } = operation;
    if (load.kind === 'calls') {
      const caller = new Caller(load);
      loop = (seconds) => caller.closedLoop(inFlight, seconds);
    } else loop = (seconds, share) => closedLoop(target.baseUrl, load, { inFlight, seconds, share });
    return { prepared: true };
  }
  const prepared = loop;
  if (prepared === undefined) throw new Error('nothing is prepared');
  return awake(() => prepared(request.seconds, request.share));
}

process.on('message', (request: DriverRequest) => {
  perform(request)
    .catch((error: unknown): DriverAnswer => {
      return { failed: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    })
    .then((answer) => {
      const wrong = failures();
      if (wrong !== '') process.stderr.write(`        ${name}: ${wrong}\n`);
      return process.send?.(answer);
    })
    .catch(() => process.exit(1));
});
process.on('disconnect', () => process.exit(0));
