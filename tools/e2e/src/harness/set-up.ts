import type { Environment, HttpClient, Person, ServerProcess } from '@tessera/test-client';
import { runsEverything } from '@tessera/test-kit';
import type { StateOptions } from './declared-state.ts';

/** The topology of the system under test. */
export interface SetUp {
  readonly name: string;
  readonly topology: 'compact' | 'split';
  readonly stores: 'embedded' | 'real';
  readonly rpc: 'local' | 'token' | 'mtls';
  /** Roles of the database: one with all rights, or one for each service. */
  readonly roles: 'one' | 'service';
}

export const setUps = {
  'compact-embedded': {
    name: 'compact on embedded stores',
    topology: 'compact',
    stores: 'embedded',
    rpc: 'local',
    roles: 'one',
  },
  compact: {
    name: 'compact on Postgres and Redis',
    topology: 'compact',
    stores: 'real',
    rpc: 'local',
    roles: 'one',
  },
  split: {
    name: 'split in seven processes on Postgres and Redis',
    topology: 'split',
    stores: 'real',
    rpc: 'token',
    roles: 'one',
  },
  'split-mtls': {
    name: 'split with mTLS and a database role per service',
    topology: 'split',
    stores: 'real',
    rpc: 'mtls',
    roles: 'service',
  },
} as const satisfies Record<string, SetUp>;

/**
 * The set-ups of tests that the topology changes little: `npm test` runs them on the first one, where more can go
 * wrong, `npm run test:all` on each.
 */
export function firstOf(first: SetUp, ...others: readonly SetUp[]): readonly SetUp[] {
  return runsEverything ? [first, ...others] : [first];
}

/** A running system as the suites see it: over HTTP, with what an operator can do. */
export interface System {
  readonly setUp: SetUp;
  readonly baseUrl: string;
  readonly http: HttpClient;
  readonly processes: readonly ServerProcess[];
  /** The settings that one process was started with. */
  environmentOf(name: string): Environment;
  person(): Person;
  /** Applies the declared state and waits until every process serves it. */
  apply(options: StateOptions): Promise<void>;
  /** Restarts one process or all of them with `environment` added, and waits until they are ready. */
  restart(name?: string, environment?: Readonly<Record<string, string>>): Promise<void>;
  /** The output of all processes. */
  output(): string;
  stop(): Promise<void>;
}
