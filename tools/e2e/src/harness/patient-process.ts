import { rareCollections } from '@tessera/test-kit/provision';
import { ServerProcess, type Environment, type ServerProcessOptions } from '@tessera/test-client';

/**
 * A server on a machine that has other tests to run at the same time: it waits longer for its database and for other
 * processes, so that a pause of the machine is no 503. Time-outs have tests of their own, which say how long.
 */
export class PatientProcess extends ServerProcess {
  constructor(name: string, entry: string, options: ServerProcessOptions = {}) {
    super(name, entry, { ...options, nodeOptions: [...rareCollections, ...(options.nodeOptions ?? [])] });
  }

  override start(environment: Environment): void {
    super.start({ TESSERA_DATABASE_STATEMENT_TIMEOUT: '6s', ...environment });
  }
}
