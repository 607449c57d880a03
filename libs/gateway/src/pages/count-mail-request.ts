import { OAuthError } from '@tessera/oauth';
import { addressKey } from '@tessera/stores';
import type { PageContext } from './page-context.ts';

const windowSeconds = 3600;

/**
 * Mail leaves for others' inboxes: an address asks for it in an hour a tenth as often as it starts requests in a
 * minute.
 */
const share = 1 / 10;

/** Throws `rate_limited` for an address that asks for much mail. */
export async function countMailRequest({ request, gateway }: PageContext): Promise<void> {
  const limit = Math.max(1, Math.floor(gateway.config.TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS * share));
  const rule = { name: 'mail.address', limit, windowSeconds };
  const { allowed, retryAfterSeconds } = await gateway.limiter.consume(
    rule,
    addressKey(request.incoming.ipAddress),
  );
  if (!allowed)
    throw new OAuthError('rate_limited', 'Too many attempts. Try again later.', { retryAfterSeconds });
}
