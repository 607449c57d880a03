import type { OAuthError } from '@tessera/oauth';

/** What a page says of an error: of a lock, for how long. A client that reads JSON has the time in `Retry-After`. */
export function problemSentence({ code, message, retryAfterSeconds }: OAuthError): string {
  if (code !== 'rate_limited' || retryAfterSeconds === undefined) return message;
  const minutes = Math.ceil(retryAfterSeconds / 60);
  return minutes > 1
    ? `Too many attempts. Try again in ${minutes} minutes.`
    : 'Too many attempts. Try again in a minute.';
}
