import type { BrowserCall } from '../browser-call.ts';
import type { Session } from '../store/session-store.ts';
import type { Visit } from '../store/visit-store.ts';
import { invalidContext } from './visits.ts';

/**
 * Who changes what is theirs, as the directory is told. It refuses the change of somebody whose sign-in no longer
 * counts at the commit: the records here may be a moment old.
 */
export interface AskingPerson {
  readonly tenantId: string;
  readonly userId: string;
  /** Seconds since the Unix epoch; 0 if it is not known, from an older directory. */
  readonly authTime: bigint;
  readonly ipAddress: string;
}

/** The person of a session, which must be that of the browser. */
export function askingBySession(
  { browser }: BrowserCall,
  { tenantId, userId, authentication }: Session,
): AskingPerson {
  return { tenantId, userId, authTime: BigInt(authentication.time), ipAddress: browser.ipAddress };
}

/** The person who is known in a visit, by what identified them first. */
export function askingInVisit({ browser }: BrowserCall, { tenantId, person }: Visit): AskingPerson {
  if (person === undefined) throw invalidContext('nobody is known in the visit');
  const { userId, signedInAt = 0 } = person;
  return {
    tenantId,
    userId,
    authTime: BigInt(Math.floor(signedInAt / 1000)),
    ipAddress: browser.ipAddress,
  };
}
