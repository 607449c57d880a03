import { NoPlaceError } from '@tessera/outbound';
import { temporarilyUnavailable, waitingPhase } from '@tessera/oauth';
import { addressKey } from '@tessera/stores';
import type { DeclaredProvider, Provider, Reach } from './provider.ts';

/** Made once, and without a cause, so that it is not logged for each. */
const providerIsBusy = temporarilyUnavailable(undefined, 2).withRefusal({
  phase: waitingPhase,
  reason: 'too many requests wait for the provider',
});

/**
 * Does something with a provider on behalf of an address. Rejects with ProviderUnreachableError if it cannot be
 * reached, and at once with `temporarily_unavailable` while too many wait for it.
 */
export async function withProvider<T>(
  declared: DeclaredProvider,
  reach: Reach,
  ipAddress: string,
  use: (provider: Provider) => Promise<T> | T,
): Promise<T> {
  const waiting = { server: declared.issuer, address: addressKey(ipAddress) };
  try {
    return await reach.places.hold(waiting, async () => {
      const { openProvider } = await import('./provider.ts');
      return use(await openProvider(declared, reach));
    });
  } catch (error) {
    throw error instanceof NoPlaceError ? providerIsBusy : error;
  }
}
