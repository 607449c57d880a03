import { createHmac } from 'node:crypto';

/**
 * What a browser is asked for: the domain of the passkey, the only origin that may use it, and a challenge (WebAuthn L3
 * §13.4.3).
 */
export interface PasskeyCeremony {
  readonly rpId: string;
  readonly origin: string;
  /** Base64url. */
  readonly challenge: string;
}

/** What a passkey is asked for: to be made, or to be used. */
export type PasskeyUse = 'create' | 'get';

/** In characters; longer ones are none of ours. */
const longestNonce = 64;

/**
 * The ceremony that was begun with this nonce. Its challenge is made of the nonce and a secret of what it is for, so
 * that nobody else can know it before, and nothing else accepts it. Undefined where browsers have no passkeys: at an
 * address, and without TLS (but on localhost).
 * @param issuer where the browser is; empty if that is not known
 * @param domain of the passkeys; empty for the host of the issuer
 */
export function passkeyCeremony(
  { issuer, secret, domain }: { readonly issuer: string; readonly secret: string; readonly domain: string },
  use: PasskeyUse,
  nonce: string,
): PasskeyCeremony | undefined {
  if (issuer === '' || secret === '' || nonce === '' || nonce.length > longestNonce) return undefined;
  const { protocol, hostname, origin } = new URL(issuer);
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  if ((protocol !== 'https:' && !isLocal) || isAddress(hostname)) return undefined;
  const challenge = createHmac('sha256', secret).update(`passkey\0${use}\0${nonce}`).digest('base64url');
  return { rpId: domain === '' ? hostname : domain, origin, challenge };
}

/** Characters of what browsers send of a passkey. Longer text is not looked at. */
export const longestPasskeyResponse = 8192;

/** The identifier of a passkey, in base64url: it has at most 1023 bytes (WebAuthn L3 §5.1). */
export const credentialIdShape = /^[\w-]{1,1364}$/;

/**
 * The identifier of the passkey that a response is of, as everything else that reads the response sees it; undefined if
 * it names none.
 */
export function credentialOf(response: string): string | undefined {
  if (response.length > longestPasskeyResponse) return undefined;
  const { id } = membersOf(response);
  return typeof id === 'string' && credentialIdShape.test(id) ? id : undefined;
}

function membersOf(text: string): { readonly id?: unknown } {
  try {
    return Object(JSON.parse(text)) as { id?: unknown };
  } catch {
    return {};
  }
}

/**
 * Whether a host name of a URL is an IP address: URLs have version 4 in four decimal parts, and version 6 in brackets.
 */
function isAddress(hostname: string): boolean {
  return hostname.startsWith('[') || /^\d+(?:\.\d+){3}$/.test(hostname);
}

/** How browsers name the person of a passkey: tenants may share a domain, and lists then show the passkeys of all. */
export function passkeyUserNames(person: {
  readonly tenantName: string;
  readonly username: string;
  /** May be empty. */
  readonly name: string;
}): { readonly name: string; readonly displayName: string } {
  const { tenantName, username, name } = person;
  return { name: `${username} (${tenantName})`, displayName: name === '' ? username : name };
}
