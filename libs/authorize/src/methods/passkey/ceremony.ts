import { opaqueValue, type Random } from '@tessera/kit';
import { passkeyCeremony, type PasskeyCeremony, type PasskeyUse } from '@tessera/oauth';
import type { Visit } from '../../store/visit-store.ts';

/**
 * A new ceremony of a visit, with the nonce that its form sends back. Its secret is the seed of the visit, which no
 * page shows. Undefined where browsers have no passkeys.
 */
export function newCeremony(
  visit: Visit,
  domain: string,
  use: PasskeyUse,
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
  { issuer, seed }: Pick<Visit, 'issuer' | 'seed'>,
  domain: string,
  use: PasskeyUse,
  nonce: string,
): PasskeyCeremony | undefined {
  return passkeyCeremony({ issuer, secret: seed, domain }, use, nonce);
}

/**
 * What a sign-in with a passkey proves (RFC 8176 §2): a key, in hardware unless it can be copied, and that its owner
 * was verified.
 */
export function passkeyMethods(synced: boolean): readonly string[] {
  return [synced ? 'swk' : 'hwk', 'user', 'mfa'];
}
