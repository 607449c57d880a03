import type { Limiter, LimitRule } from '@tessera/stores';
import { OAuthError } from '@tessera/oauth';

/** The error for too many attempts of any kind. */
export function tooMany(retryAfterSeconds: number): OAuthError {
  return new OAuthError('rate_limited', 'Too many attempts. Try again later.', { retryAfterSeconds });
}

/** The same limit for authenticated clients and for all others, each with counters of its own. */
export function separately(rule: LimitRule, authenticated: boolean): LimitRule {
  return authenticated ? rule : { ...rule, name: `${rule.name}.unauthenticated` };
}

/** Counts one attempt. Beyond the limit it calls `onLimit` and throws `rate_limited`. */
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
