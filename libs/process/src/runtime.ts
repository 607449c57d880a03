import type { Logger } from 'pino';
import type { Clock, Random } from '@tessera/kit';
import type { Database, RedisHandle } from '@tessera/stores';

/** What a process hands to the services it builds. Services share no object but what comes from here. */
export interface Runtime {
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
  /** Postgres or PGlite; always present for a service that owns a schema. */
  readonly database: Database;
  /** Absent: short-lived state is held in the memory of this one process. */
  readonly redis: RedisHandle | undefined;
  /** A named point where a test may end the process; does nothing otherwise. */
  readonly failpoint: (name: string) => void;
  /** @throws OAuthError `temporarily_unavailable` while the clock differs from the database's by more than 5 s */
  readonly requireClock: () => void;
}
