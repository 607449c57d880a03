import { isLoopbackRedirect } from '@tessera/oauth';
import { CommandError } from '../terminal.ts';

/**
 * An address that may be sent secrets and access tokens: https, or http on this machine. Throws CommandError.
 * @param called where the address was said
 */
export function safeAddress(called: string, text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new CommandError(`${called} must be an address such as https://id.example.com.`, 2);
  if (url.protocol === 'https:' || isLoopbackRedirect(url.href)) return text;
  throw new CommandError(
    `${called} must begin with https://, as secrets and access tokens go there and anybody on the way could read them; http:// is for this machine alone (localhost, 127.0.0.1, [::1]).`,
    2,
  );
}
