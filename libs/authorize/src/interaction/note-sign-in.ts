import { NotedLater, type Clock } from '@tessera/kit';
import type { PersonService } from '@tessera/proto-gen/person';
import { timestampFromMs, type Client } from '@tessera/rpc';
import type { Logger } from '@tessera/telemetry';

/** Keeps that a person has signed in; a second later, off the path of the sign-in. */
export interface SignInNotes {
  note(person: { readonly tenantId: string; readonly userId: string }): void;
  /** Writes what is left. */
  close(): Promise<void>;
}

/** Of one second; those beyond it are left out. */
const mostPeople = 10_000;
const everySecond = 1000;

export function createSignInNotes({
  personService,
  clock,
  log,
}: {
  readonly personService: Pick<Client<typeof PersonService>, 'noteSignIns'>;
  readonly clock: Clock;
  readonly log: Logger;
}): SignInNotes {
  const notes = new NotedLater({
    async write(signIns: readonly { tenantId: string; userId: string; at: number }[]) {
      const noted = signIns.map(({ at, ...person }) => ({ ...person, signInTime: timestampFromMs(at) }));
      await personService.noteSignIns({ signIns: noted });
    },
    pauseMs: everySecond,
    capacity: mostPeople,
    onError: (err, people) => log.warn({ err, people }, 'could not keep the last sign-ins of people yet'),
  });
  return {
    note: ({ tenantId, userId }) =>
      notes.note(`${tenantId} ${userId}`, { tenantId, userId, at: clock.now() }),
    close: async () => notes.close(),
  };
}
