import type { Clock } from '@tessera/kit';
import type { ListTenantIssuersResponse } from '@tessera/proto-gen/directory';

/** A list younger than this is used without a call. */
const freshMs = 1_000;

/** The origins of tenants whose passkeys are for the host of the shared issuer. */
export type RelatedOrigins = () => Promise<readonly string[]>;

export function createRelatedOrigins(deps: {
  /** Asks the directory, with a deadline. */
  readonly fetch: () => Promise<Pick<ListTenantIssuersResponse, 'issuers'>>;
  readonly clock: Clock;
}): RelatedOrigins {
  let readAt = -Infinity;
  let reading: Promise<readonly string[]> = Promise.resolve([]);

  async function read(): Promise<readonly string[]> {
    const { issuers } = await deps.fetch();
    const related = issuers.filter(({ passkeyDomain }) => passkeyDomain === 'shared');
    return [...new Set(related.map(({ issuer }) => new URL(issuer).origin))];
  }

  return async () => {
    if (deps.clock.now() - readAt >= freshMs) {
      readAt = deps.clock.now();
      reading = read();
    }
    return reading;
  };
}
