import { createHmac } from 'node:crypto';
import { isIP } from 'node:net';
import { opaqueValue, type Random } from '@tessera/kit';
import type { Visit } from '../../store/store.ts';

/** What a browser is asked for: the domain of the passkey, the only origin that may use it, and a challenge (WebAuthn L3 §13.4.3). */
export interface PasskeyCeremony {
  readonly rpId: string;
  readonly origin: string;
  /** Base64url. */
  readonly challenge: string;
}

/** What a passkey is asked for: to be made, or to be used. */
type Use = 'create' | 'get';

/** Longer ones are none of ours. */
const longestNonce = 64;

/**
 * A new ceremony of a visit, with the nonce that its form sends back. The challenge is made of the nonce and the seed of the visit, which
 * no page shows: so it is new with each page, nobody can know it before, and no other visit accepts it. Undefined where browsers have no
 * passkeys: at an address, without TLS (but on localhost), and in a visit that version 0.1 began.
 */
export function newCeremony(
  visit: Visit,
  domain: string,
  use: Use,
  random: Random,
): (PasskeyCeremony & { readonly nonce: string }) | undefined {
  const nonce = opaqueValue('', random, 16);
  const ceremony = ceremonyOf(visit, domain, use, nonce);
  return ceremony && { ...ceremony, nonce };
}

/**
 * The ceremony that was begun with this nonce; undefined where there is none.
 * @param domain of the passkeys; empty for the host of the issuer
 */
export function ceremonyOf(
  { issuer, seed = '' }: Pick<Visit, 'issuer' | 'seed'>,
  domain: string,
  use: Use,
  nonce: string,
): PasskeyCeremony | undefined {
  if (issuer === '' || seed === '' || nonce === '' || nonce.length > longestNonce) return undefined;
  const { protocol, hostname, origin } = new URL(issuer);
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  if ((protocol !== 'https:' && !isLocal) || hostname.startsWith('[') || isIP(hostname) !== 0)
    return undefined;
  const challenge = createHmac('sha256', seed).update(`passkey\0${use}\0${nonce}`).digest('base64url');
  return { rpId: domain === '' ? hostname : domain, origin, challenge };
}

/** What a sign-in with a passkey proves (RFC 8176 §2): a key, in hardware unless it can be copied, and that its owner was verified. */
export function passkeyMethods(synced: boolean): readonly string[] {
  return [synced ? 'swk' : 'hwk', 'user', 'mfa'];
}
