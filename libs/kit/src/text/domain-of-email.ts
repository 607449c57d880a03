import { domainToASCII } from 'node:url';

const domainShape = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const longestDomain = 253;

/**
 * The domain of an e-mail address in the one form in which domains are compared: lower-case ASCII, each international
 * label in its A-label (RFC 5890 §2.3.2.1), without a final dot. Undefined for whatever else stands there, such as an
 * address literal: nobody owns it.
 */
export function domainOfEmail(email: string): string | undefined {
  const at = email.lastIndexOf('@');
  const given = email.slice(at + 1);
  // What an ASCII domain cannot have would be cut off or decoded, as in a URL.
  if (at < 1 || given.length > longestDomain || /[^a-z0-9.\-\u0080-\u{10ffff}]/iu.test(given))
    return undefined;
  const domain = domainToASCII(given);
  return domain.length <= longestDomain && domainShape.test(domain) ? domain : undefined;
}

/** An e-mail address with its domain in that form; as it is if it has none. */
export function withAsciiDomain(email: string): string {
  const domain = domainOfEmail(email);
  return domain === undefined ? email : `${email.slice(0, email.lastIndexOf('@'))}@${domain}`;
}
