import { passkeyCeremony, passkeyUserNames } from '@tessera/oauth';
import type { OwnPasskey } from '@tessera/proto-gen/person';
import type { BrowserCall } from '../browser-call.ts';
import type { PasskeyDomain } from '../methods/passkey/passkey-domain.ts';

interface OfPerson {
  readonly person: {
    readonly tenantId: string;
    readonly tenantName: string;
    readonly username: string;
    readonly name: string;
  };
  readonly passkeys: readonly Pick<OwnPasskey, 'credentialId' | 'rpId' | 'userHandle'>[];
  /** How authenticators know the person by what is made here; empty from a directory of version 0.2. */
  readonly userHandle: string;
}

/**
 * What browsers are told of the passkeys of a person (WebAuthn L3 §5.1.10), so that they no longer offer those that
 * were removed, and name the person as they are named now. Also of the domain of this issuer, where none may be left.
 */
export async function acceptedPasskeys(
  { passkeyDomain }: { readonly passkeyDomain: PasskeyDomain },
  from: BrowserCall,
  { person, passkeys, userHandle }: OfPerson,
) {
  const { issuer } = from.browser;
  const domain = await passkeyDomain(from, { issuer, tenantId: person.tenantId });
  // Only its domain is asked for.
  const here = passkeyCeremony({ issuer, secret: '-', domain }, 'create', '-')?.rpId ?? '';
  const all = [{ rpId: here, userHandle, credentialId: undefined }, ...passkeys];
  const known = all.filter((each) => each.rpId !== '' && each.userHandle !== '');
  const groups = Map.groupBy(known, ({ rpId, userHandle: handle }) => `${rpId} ${handle}`);
  return [...groups.values()].map((group) => ({
    rpId: group[0]?.rpId ?? '',
    userHandle: group[0]?.userHandle ?? '',
    credentialIds: group.flatMap(({ credentialId }) => credentialId ?? []),
    ...passkeyUserNames(person),
  }));
}
