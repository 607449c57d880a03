import { systemClock, systemRandom, ulid } from '@tessera/kit';
import { Code, ConnectError, operatorRemedy, rootCall, type CallOptions } from '@tessera/rpc/caller';
import { withService, type ClientOf } from '../operate/records/with-service.ts';
import type { Terminal } from '../terminal.ts';

/** Hashing passwords takes long. */
const timeoutMs = 120_000;
/** Shorter than the time before its end at which a login is renewed. */
const sessionMs = 20_000;
/** How long a call is asked again while what it needs is unavailable: many calls may have been answered before. */
const patienceMs = 60_000;
const longestPauseMs = 5_000;

type Ask<T> = (clientOf: ClientOf, call: CallOptions) => Promise<T>;

/**
 * The directory, for many calls one after the other: it is reached, and a login renewed, for some of them at a time.
 */
export interface ReachedDirectory {
  /**
   * Asks once; or again, for a minute, where what answered before is unavailable. What is asked may be repeated. Throws
   * as `withService`.
   */
  call<T>(ask: Ask<T>): Promise<T>;
  end(): Promise<void>;
}

/** @param changes whether one of the calls may change something */
export function reachDirectory(terminal: Terminal, changes: boolean): ReachedDirectory {
  let session: Session | undefined;
  let hasAnswered = false;
  async function once<T>(ask: Ask<T>): Promise<T> {
    session ??= begin(terminal, changes);
    const answer = (await session.ask(ask)) as T;
    hasAnswered = true;
    return answer;
  }
  return {
    async call<T>(ask: Ask<T>) {
      if (session !== undefined && terminal.now() - session.begun >= sessionMs) {
        await session.end();
        session = undefined;
      }
      const until = terminal.now() + patienceMs;
      for (let pauseMs = 500; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
        try {
          return await once(ask);
        } catch (error) {
          const isPassing = session?.isUnavailable() === true;
          session = undefined;
          if (!isPassing || !hasAnswered || terminal.now() >= until) throw error;
          await terminal.sleep(pauseMs);
        }
      }
    },
    async end() {
      await session?.end();
    },
  };
}

interface Session {
  readonly begun: number;
  /** Whatever it throws has ended the session. */
  ask(ask: Ask<unknown>): Promise<unknown>;
  /** Whether the last answer was that a store or a service is unavailable, for which nobody has to do anything. */
  isUnavailable(): boolean;
  end(): Promise<void>;
}

function begin(terminal: Terminal, changes: boolean): Session {
  let asked = Promise.withResolvers<Ask<unknown> | undefined>();
  let answered = Promise.withResolvers<unknown>();
  let isUnavailable = false;
  const work = withService('directory', terminal, {
    name: 'Importing',
    changes,
    // Also without a change: what would become of it depends on where it is.
    saysWhere: true,
    timeoutMs,
    async run(clientOf) {
      for (;;) {
        // If a store was unavailable it runs again, with what was asked last.
        const ask = await asked.promise;
        if (ask === undefined) return;
        const answer = await ask(clientOf, rootCall(ulid(systemClock, systemRandom), timeoutMs)).catch(
          (error: unknown) => {
            isUnavailable =
              error instanceof ConnectError &&
              error.code === Code.Unavailable &&
              operatorRemedy(error) === undefined;
            throw error;
          },
        );
        asked = Promise.withResolvers<Ask<unknown> | undefined>();
        answered.resolve(answer);
      }
    },
  });
  work.catch((error: unknown) => answered.reject(error));
  return {
    begun: terminal.now(),
    async ask(ask) {
      answered = Promise.withResolvers<unknown>();
      asked.resolve(ask);
      return answered.promise;
    },
    isUnavailable: () => isUnavailable,
    async end() {
      asked.resolve(undefined);
      await work;
    },
  };
}
