import { systemClock, systemRandom, ulid } from '@tessera/kit';
import {
  ConnectError,
  operatorRemedy,
  rootCall,
  whereOffered,
  type CallOptions,
  type RemoteService,
} from '@tessera/rpc/caller';
import { CommandError } from '../../terminal.ts';

/** Makes a client of what the service offers. */
export type ClientOf = RemoteService['client'];

/** A request of an operator to a service. It may be repeated if a store or service is unavailable. */
export interface ServiceWork<T> {
  /** Its name in messages, such as "Applying". */
  readonly name: string;
  readonly changes: boolean;
  /** Whether it says first where it works; default: if it changes something. */
  readonly saysWhere?: boolean;
  /** What it is at, for who waits; default: its name. */
  readonly progress?: () => string;
  readonly timeoutMs: number;
  run(clientOf: ClientOf, call: CallOptions): Promise<T>;
}

/** Does the work once. Throws CommandError if the service refuses. */
export async function attempt<T>(work: ServiceWork<T>, clientOf: ClientOf): Promise<T> {
  try {
    const call = rootCall(ulid(systemClock, systemRandom), work.timeoutMs);
    return await whereOffered(work.run(clientOf, call), () => tooOld(work));
  } catch (error) {
    const remedy = operatorRemedy(error);
    if (remedy !== undefined) throw new CommandError(`${work.name} cannot be done. ${remedy}.`);
    if (!(error instanceof ConnectError)) throw error;
    throw new CommandError(error.rawMessage);
  }
}

function tooOld({ name }: Pick<ServiceWork<unknown>, 'name'>): never {
  throw new CommandError(
    `${name} cannot be done: the process that was asked is of a version that does not know how. Upgrade it first.`,
  );
}
