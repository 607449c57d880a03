import { addressKey, networkKey } from '@tessera/stores';
import type { SignInSource } from './fair-line.ts';

/** Who signs in. `account`: within the tenant. */
export function signInSource(tenantId: string, account: string, ipAddress: string): SignInSource {
  return {
    address: addressKey(ipAddress),
    network: networkKey(ipAddress),
    account: `${tenantId}\0${account}`,
    tenant: tenantId,
  };
}
