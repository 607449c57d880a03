import { boundedCache, domainOfEmail, type Clock } from '@tessera/kit';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Client } from '@tessera/rpc';
import type { BrowserCall } from '../../browser-call.ts';

/** The providers that the people of a tenant may choose. */
export interface ChoosableProviders {
  readonly shown: readonly { readonly name: string; readonly displayName: string }[];
  /** Whether an address can lead to one. */
  readonly hasDomains: boolean;
  /** The name of the provider of the domain of an e-mail address; undefined if it has none. */
  ofEmail(email: string): string | undefined;
}

export interface TenantProviders {
  of(from: BrowserCall, tenantId: string): Promise<ChoosableProviders>;
}

/** A change shows within a second, as every change does. */
const keptMs = 1_000;
const mostTenants = 1_000;

/** The first page of every sign-in shows them, so they are kept for a second. */
export function createTenantProviders(deps: {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly clock: Pick<Clock, 'now'>;
}): TenantProviders {
  const kept = boundedCache<{ readonly providers: Promise<ChoosableProviders>; readonly until: number }>(
    mostTenants,
  );

  async function read({ call }: BrowserCall, tenantId: string): Promise<ChoosableProviders> {
    const { providers } = await deps.directoryService.listProviders({ tenantId }, call.onward());
    const byDomain = new Map(
      providers.flatMap(({ name, domains }) => domains.map((domain) => [domain, name])),
    );
    return {
      shown: providers.map(({ name, displayName }) => ({ name, displayName })),
      hasDomains: byDomain.size > 0,
      ofEmail: (email) => byDomain.get(domainOfEmail(email.trim()) ?? ''),
    };
  }

  return {
    async of(from, tenantId) {
      if (tenantId === '') return none;
      const known = kept.get(tenantId);
      // Its first reader may have given up.
      if (known !== undefined && deps.clock.now() < known.until)
        return known.providers.catch(() => read(from, tenantId));
      const providers = read(from, tenantId);
      kept.set(tenantId, { providers, until: deps.clock.now() + keptMs });
      providers.catch(() => kept.delete(tenantId));
      return providers;
    },
  };
}

const none: ChoosableProviders = { shown: [], hasDomains: false, ofEmail: () => undefined };
