import { systemClock, systemRandom, type Clock, type Random } from '@tessera/kit';
import { notListening, type Database, type RedisHandle } from '@tessera/stores';
import type { Logger } from '@tessera/telemetry';
import { silentLog } from './silent-log.ts';

/**
 * What a process hands to a service that it builds, as `Runtime` of `process`, which stands on this package in its own
 * tests.
 */
interface TestRuntime {
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
  readonly database: Database;
  readonly redis: RedisHandle | undefined;
  readonly failpoint: (name: string) => void;
  readonly requireClock: () => void;
}

/** A runtime for one service under test: silent, on the system's clock, without stores unless they are given. */
export function testRuntime(overrides: Partial<TestRuntime> = {}): TestRuntime {
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
