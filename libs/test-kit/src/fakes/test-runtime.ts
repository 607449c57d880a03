import { systemClock, systemRandom } from '@tessera/kit';
import { notListening, type Database } from '@tessera/stores';
import type { Runtime } from '@tessera/process';
import { silentLog } from './silent-log.ts';

/** A runtime for one service under test: silent, on the system's clock, without stores unless they are given. */
export function testRuntime(overrides: Partial<Runtime> = {}): Runtime {
  return {
    log: silentLog(),
    clock: systemClock,
    random: systemRandom,
    database: noDatabase,
    redis: undefined,
    failpoint: () => undefined,
    requireClock: () => undefined,
    ...overrides,
  };
}

const refuse = () => Promise.reject(new Error('this runtime has no database: pass one to testRuntime'));

const noDatabase: Database = {
  engine: 'postgres',
  query: refuse,
  transaction: refuse,
  listen: () => notListening,
  close: () => Promise.resolve(),
};
