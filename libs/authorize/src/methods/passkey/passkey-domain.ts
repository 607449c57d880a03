import type { DirectoryClient } from '@tessera/directory-client';
import type { BrowserCall } from '../../browser-call.ts';
import type { Visit } from '../../store/visit-store.ts';

/**
 * The domain of the passkeys of a visit's tenant (WebAuthn L3 §4, RP ID), if it is not the host of its issuer; else ''.
 * A tenant that got a host of its own may keep the passkeys that its people have at the shared issuer, which names the
 * host as a related origin (§5.11).
 */
export type PasskeyDomain = (from: BrowserCall, visit: Pick<Visit, 'issuer' | 'tenantId'>) => Promise<string>;

export function createPasskeyDomain(deps: {
  readonly directory: Pick<DirectoryClient, 'tenant'>;
  /** Undefined if it is taken from the host of each request. */
  readonly sharedIssuer: string | undefined;
}): PasskeyDomain {
  const { directory, sharedIssuer } = deps;
  return async ({ call }, { issuer, tenantId }) => {
    if (sharedIssuer === undefined || issuer === sharedIssuer) return '';
    const tenant = await directory.tenant(tenantId, call.onward());
    return tenant?.passkeyDomain === 'shared' ? new URL(sharedIssuer).hostname : '';
  };
}
