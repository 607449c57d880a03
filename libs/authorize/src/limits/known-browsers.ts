import { digest, knownBrowserHash } from '../browser-call.ts';
import type { BrowserCall } from '../browser-call.ts';
import type { KnownBrowserStore } from '../store/known-browsers.postgres.ts';

/** The counter of failed guesses that a browser has of its own for a person; undefined if it is not known for them. */
export type OwnCounter = (
  from: BrowserCall,
  tenantId: string,
  person: { readonly userId: string; readonly lockedDownAt: bigint } | undefined,
) => Promise<string | undefined>;

const nobody = { userId: '', lockedDownAt: 0n };

/** Counters of browsers in which the person has signed in before (ADR 37). */
export function createKnownBrowserCounters(store: Pick<KnownBrowserStore, 'isKnown'>): OwnCounter {
  return async ({ browser }, tenantId, { userId, lockedDownAt } = nobody) => {
    const tokenHash = knownBrowserHash(browser.knownBrowserToken);
    if (tokenHash === undefined) return undefined;
    // Without a person the store is asked too, so that unknown identifiers take the same work.
    const isKnown = await store.isKnown(tokenHash, { tenantId, userId, lockedDownAt: Number(lockedDownAt) });
    return isKnown ? digest(`${tenantId}\n${userId}\n${tokenHash.toString('hex')}`) : undefined;
  };
}
