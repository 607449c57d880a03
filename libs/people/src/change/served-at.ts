import type { TenantRecord } from '@tessera/directory/records';

/**
 * Whether people of a tenant may be at the issuer of a request.
 * @param issuerTenantId the tenant at whose own issuer it was made; empty at the shared issuer
 */
export function isServedAt(tenant: TenantRecord | undefined, issuerTenantId: string): tenant is TenantRecord {
  if (tenant?.status !== 'active') return false;
  return issuerTenantId === '' ? tenant.issuer === '' : tenant.tenantId === issuerTenantId;
}
