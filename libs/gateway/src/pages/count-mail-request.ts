import { OAuthError } from '@tessera/oauth';
import { addressKey } from '@tessera/stores';
import type { PageContext } from './page-context.ts';

const windowSeconds = 3600;

/** Throws `rate_limited` for an address that asks for much mail. */
export async function countMailRequest({ request, gateway }: PageContext): Promise<void> {
  const limit = gateway.config.TESSERA_MAIL_REQUESTS_PER_ADDRESS;
  const rule = { name: 'mail.address', limit, windowSeconds };
  const { allowed, retryAfterSeconds } = await gateway.limiter.consume(
    rule,
    addressKey(request.incoming.ipAddress),
  );
  if (!allowed)
    throw new OAuthError('rate_limited', 'Too many attempts. Try again later.', { retryAfterSeconds });
}
