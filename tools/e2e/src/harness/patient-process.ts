import { ServerProcess, type Environment } from '@tessera/test-client';

/**
 * A server on a machine that has other tests to run at the same time: it waits longer for its database and for other
 * processes, so that a pause of the machine is no 503. Time-outs have tests of their own, which say how long.
 */
export class PatientProcess extends ServerProcess {
  override start(environment: Environment): void {
    super.start({ TESSERA_DATABASE_STATEMENT_TIMEOUT: '6s', ...environment });
  }
}
