import { OAuthError } from '@tessera/oauth';
import { addressKey } from '@tessera/stores';
import type { Gateway } from '../gateway.ts';

/**
 * Counts a request that stores state for an unauthenticated caller. Throws `rate_limited` when one address starts too many in a
 * minute.
 */
export async function countStart(
  what: 'authorization' | 'device_authorization' | 'backchannel_authentication',
  ipAddress: string,
  { limiter, config }: Pick<Gateway, 'limiter' | 'config'>,
): Promise<void> {
  const rule = { name: what, limit: config.TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS, windowSeconds: 60 };
  const { allowed, retryAfterSeconds } = await limiter.consume(rule, addressKey(ipAddress));
  if (!allowed)
    throw new OAuthError('rate_limited', 'Too many requests. Try again later.', { retryAfterSeconds });
}
