import { EndedCount, mostAtOnce, partsOf } from '@tessera/directory-client';
import type { Ends } from '@tessera/proto-gen/impact';
import type { CallOptions } from '@tessera/rpc';
import type { SelectCounting } from './counting-consents.ts';
import {
  firstConsent,
  type ConsentScope,
  type ConsentStore,
  type ListedConsent,
} from './consents.postgres.ts';

/** Counts the consents that count now and that a change would end. A policy for sign-ins ends none. */
export type CountEndedConsents = (ends: Ends | undefined, call: () => CallOptions) => Promise<EndedCount>;

export function createConsentCount({
  consents,
  selectCounting,
}: {
  readonly consents: Pick<ConsentStore, 'list'>;
  readonly selectCounting: SelectCounting;
}): CountEndedConsents {
  return async (ends, call) => {
    const count = new EndedCount();
    if (ends === undefined) return count;
    const ofClients = new Set(ends.clientIds);
    for (const { isCounted, ...scope } of scopesOf(ends)) {
      for await (const page of pages(consents, scope)) {
        const ending = page.filter(({ clientId }) => !isCounted || !ofClients.has(clientId));
        for (const { consent, username } of await selectCounting(ends.tenantId, ending, call))
          count.add({ id: '', username, clientId: consent.clientId });
      }
    }
    return count;
  };
}

/** What may hold consents that end; `isCounted` where those of ending applications are counted by these. */
function scopesOf({
  tenantId,
  everything,
  userIds,
  clientIds,
}: Ends): readonly (ConsentScope & { readonly isCounted: boolean })[] {
  if (everything) return [{ tenantId, isCounted: false }];
  return [
    ...clientIds.map((clientId) => ({ tenantId, clientId, isCounted: false })),
    ...partsOf({ everything, userIds }).map((part) => ({ tenantId, userIds: part, isCounted: true })),
  ];
}

async function* pages(
  consents: Pick<ConsentStore, 'list'>,
  scope: ConsentScope,
): AsyncGenerator<readonly ListedConsent[]> {
  let page = await consents.list(scope, firstConsent, mostAtOnce);
  for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
    yield page;
    page = page.length < mostAtOnce ? [] : await consents.list(scope, last, mostAtOnce);
  }
}
