import { systemClock, systemRandom } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import type { Kit } from '@tessera/process';
import { silentLog } from './silent-log.ts';

/** A kit for one service under test: silent, on the system's clock, without stores unless they are given. */
export function testKit(overrides: Partial<Kit> = {}): Kit {
  return {
    log: silentLog(),
    clock: systemClock,
    random: systemRandom,
    database: noDatabase,
    redis: undefined,
    failpoint: () => undefined,
    ...overrides,
  };
}

const refuse = () => Promise.reject(new Error('this kit has no database: pass one to testKit'));

const noDatabase: Database = {
  engine: 'postgres',
  query: refuse,
  transaction: refuse,
  close: () => Promise.resolve(),
};
