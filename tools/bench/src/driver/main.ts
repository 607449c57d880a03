/** The process that sends the load. Its processor time is not counted. */
import { operationNamed } from '../operations/index.ts';
import type { HttpLoad, Load, Operation } from '../operations/operation.ts';
import { awake } from './awake.ts';
import { Caller } from './calls.ts';
import { closedLoop } from './closed-loop.ts';
import { failures, note } from './failures.ts';
import { send } from './send.ts';
import type { DriverAnswer, DriverRequest } from './messages.ts';
import { openLoop } from './open-loop.ts';

interface Prepared {
  readonly operation: Operation;
  readonly load: Load;
  readonly baseUrl: string;
  readonly caller: Caller | undefined;
}

let prepared: Prepared | undefined;

async function perform(request: DriverRequest): Promise<DriverAnswer> {
  if (request.step === 'prepare') {
    const { target, duration } = request;
    const operation = operationNamed(request.operation);
    const prepare = { tessera: operation.ours, peer: operation.peers, bare: operation.bare }[target.kind];
    if (prepare === undefined) throw new Error(`there is no such operation on ${target.kind}`);
    const load = await prepare(target, { duration, rate: operation.rate });
    const caller = load.kind === 'calls' ? new Caller(load) : undefined;
    prepared = { operation, load, baseUrl: target.baseUrl, caller };
    return { step: 'prepare' };
  }
  if (prepared === undefined) throw new Error('nothing is prepared');
  const { operation, load, baseUrl, caller } = prepared;
  const { inFlight, rate } = operation;
  if (request.step === 'closed-loop') {
    const { seconds, share } = request;
    const loop = () =>
      load.kind === 'calls'
        ? requireCaller(caller).closedLoop(inFlight, seconds)
        : closedLoop(baseUrl, load, { inFlight, seconds, share });
    return { step: 'closed-loop', ...(await awake(loop)) };
  }
  const ask = load.kind === 'calls' ? () => requireCaller(caller).call() : () => askOnce(baseUrl, load);
  return { step: 'open-loop', ...(await openLoop(rate, request.seconds, ask)) };
}

async function askOnce(baseUrl: string, load: HttpLoad): Promise<boolean> {
  try {
    const answer = await send(baseUrl, load.next());
    const good = load.accept(answer);
    if (!good) note(`HTTP ${answer.status}`);
    return good;
  } catch (error) {
    note(error instanceof Error ? error.message : String(error));
    return false;
  }
}

function requireCaller(caller: Caller | undefined): Caller {
  if (caller === undefined) throw new Error('nothing is prepared for calls');
  return caller;
}

process.on('message', (request: DriverRequest) => {
  perform(request)
    .catch((error: unknown): DriverAnswer => {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
      return { step: 'failed', message };
    })
    .then((answer) => {
      const wrong = failures();
      if (wrong !== '') process.stderr.write(`        ${prepared?.operation.name ?? ''}: ${wrong}\n`);
      return process.send?.(answer);
    })
    .catch(() => process.exit(1));
});
process.on('disconnect', () => process.exit(0));
