import { OAuthError } from '@tessera/oauth';
import { addressKey, type Limiter } from '@tessera/stores';

/**
 * Counts a request that stores state for an unauthenticated caller. Throws `rate_limited` when one address starts too
 * many in a minute.
 */
export async function countStart(
  what: 'authorization' | 'device_authorization' | 'backchannel_authentication',
  ipAddress: string,
  {
    limiter,
    config,
  }: {
    readonly limiter: Limiter;
    readonly config: { readonly TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: number };
  },
): Promise<void> {
  const rule = { name: what, limit: config.TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS, windowSeconds: 60 };
  const { allowed, retryAfterSeconds } = await limiter.consume(rule, addressKey(ipAddress));
  if (!allowed)
    throw new OAuthError('rate_limited', 'Too many requests. Try again later.', { retryAfterSeconds });
}
