import type { FastifyRequest } from 'fastify';
import { OAuthError, temporarilyUnavailable, waitingPhase } from '@tessera/oauth';
import { NoPlaceError, type Places } from '@tessera/outbound';
import { rootCall, type CallOptions } from '@tessera/rpc';
import { addressKey } from '@tessera/stores';

/** Servers of others may be slow, and some are asked several times. */
const longestMs = 15_000;

/** Made once: an error with a stack for each would cost as much as some answers. */
const tooMany = temporarilyUnavailable(undefined, 2).withRefusal({
  phase: waitingPhase,
  reason: 'too many requests wait for servers of others',
});

/**
 * A call to a service that may wait for a server of others, such as a tenant's provider. The request holds no place of
 * the load shedding meanwhile, and its time says nothing about the load. `authorize` knows which server it is and
 * refuses what is too much for one; here all that wait are bounded, and those of one address. What is refused is not
 * logged for each request.
 */
export async function waitForOthers<T>(
  request: FastifyRequest,
  { places }: { readonly places: Places },
  call: (options: CallOptions) => Promise<T>,
  limit: { readonly timeoutMs?: number } = { timeoutMs: longestMs },
): Promise<T> {
  const { requestId, ipAddress } = request.incoming;
  request.yieldPlace();
  try {
    return await places.hold({ server: undefined, address: addressKey(ipAddress) }, async () =>
      call(rootCall(requestId, limit.timeoutMs)),
    );
  } catch (error) {
    const seen = error instanceof NoPlaceError ? tooMany : error;
    request.refused ||= seen instanceof OAuthError && seen.refusal?.phase === waitingPhase;
    throw seen;
  }
}
