import { parentPort, workerData } from 'node:worker_threads';
import { compareSync } from 'bcryptjs';

/** What a thread is given. */
interface Work {
  readonly password: string;
  readonly text: string;
}

const { password, text } = workerData as Work;
// Nothing is transferred.
parentPort?.postMessage(compareSync(password, text), []);
