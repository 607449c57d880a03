import { isActive } from '@tessera/directory-client';
import { meetsPolicy } from '@tessera/oauth';
import type { Tenant, User } from '@tessera/proto-gen/directory';

/**
 * Whether a session counts: its person is active and has been since the sign-in, whose factors the policy of the tenant
 * accepts. Undefined: there is no such record. What an application asks for besides is asked for when the person comes
 * to it.
 */
export function counts(
  tenant: Pick<Tenant, 'authenticationPolicy'> | undefined,
  user: User | undefined,
  { time, methods }: { readonly time: number; readonly methods: readonly string[] },
): boolean {
  if (tenant === undefined || user === undefined || !isActive(user, time)) return false;
  return meetsPolicy(tenant.authenticationPolicy, methods);
}
