import type { PersonService } from '@tessera/proto-gen/person';
import type { Client } from '@tessera/rpc';
import type { Limiter } from '@tessera/stores';
import type { Logger } from '@tessera/telemetry';
import type { BrowserCall } from '../browser-call.ts';

/**
 * Notes a wrong code of a person, whose counter is named `counter`, and has them told of the twentieth within a day.
 */
export type TellOfWrongCodes = (
  from: BrowserCall,
  person: { readonly tenantId: string; readonly userId: string },
  counter: string,
) => Promise<void>;

const daySeconds = 24 * 3600;

/** Wrong codes without a letter. */
const untold = { name: 'sign-in.codes-untold', limit: 19, windowSeconds: daySeconds };

/** Letters: one for all codes of a day. */
const letters = { name: 'sign-in.codes-letter', limit: 1, windowSeconds: daySeconds };

export function createTellOfWrongCodes({
  limiter,
  personService,
  log,
}: {
  readonly limiter: Pick<Limiter, 'consume' | 'refund'>;
  readonly personService: Pick<Client<typeof PersonService>, 'announceWrongCodes'>;
  readonly log: Logger;
}): TellOfWrongCodes {
  return async ({ call }, person, counter) => {
    if ((await limiter.consume(untold, counter)).allowed) return;
    if (!(await limiter.consume(letters, counter)).allowed) return;
    try {
      await personService.announceWrongCodes(person, call.onward());
    } catch (error) {
      // The code was judged, and the next wrong one tries again.
      await limiter.refund(letters, counter);
      log.warn({ err: error, ...person }, 'a person could not be told of wrong codes');
    }
  };
}
