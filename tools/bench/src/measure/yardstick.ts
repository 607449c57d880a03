import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { YardstickMessage, YardstickReport } from './yardstick-process.ts';

const entry = fileURLToPath(new URL('yardstick-process.ts', import.meta.url));

/** Measures the physical work during another measurement. */
export class Yardstick {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(): Promise<Yardstick> {
    const child = fork(entry, { execArgv: [] });
    await once(child, 'message');
    return new Yardstick(child);
  }

  async during<T>(passwordHash: boolean, work: () => Promise<T>): Promise<[T, YardstickReport]> {
    this.#tell({ start: { passwordHash } });
    try {
      return [await work(), await this.#report()];
    } catch (error) {
      await this.#report();
      throw error;
    }
  }

  stop(): void {
    this.#child.disconnect();
  }

  async #report(): Promise<YardstickReport> {
    const answer = once(this.#child, 'message') as Promise<[YardstickReport]>;
    this.#tell({ stop: true });
    const [report] = await answer;
    return report;
  }

  #tell(message: YardstickMessage): void {
    this.#child.send(message);
  }
}
