import type { Limiter, LimitRule } from '@tessera/stores';
import { OAuthError } from '@tessera/oauth';

/** The answer to whoever tries too often, wherever that is. */
export function tooMany(retryAfterSeconds: number): OAuthError {
  return new OAuthError('rate_limited', 'Too many attempts. Try again later.', { retryAfterSeconds });
}

/** Counts one attempt; throws `rate_limited` beyond the limit, after telling `onLimit`. */
export async function count(
  limiter: Limiter,
  rule: LimitRule,
  key: string,
  onLimit: (rule: string) => void,
): Promise<void> {
  const { allowed, retryAfterSeconds } = await limiter.consume(rule, key);
  if (allowed) return;
  onLimit(rule.name);
  throw tooMany(retryAfterSeconds);
}
