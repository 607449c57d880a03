import { checkApplication, checkSecrets } from '../applications/checks.ts';
import { refuseRepeated, type Report } from '../fields/checks.ts';
import {
  checkAudiences,
  checkResources,
  jwtAudienceAsClientId,
  jwtAudiencesOf,
} from '../resources/checks.ts';
import { checkIssuers } from '../tenants/checks.ts';
import { checkUsers } from '../users/checks.ts';
import type { DeclaredTenant } from './schema.ts';

/** The rules that involve more than one key. */
export function checkRules(tenants: readonly DeclaredTenant[], report: Report): void {
  refuseRepeated(
    tenants.map((tenant) => tenant.id),
    (index) => report(['tenants', index, 'id'], 'is declared twice'),
  );
  checkIssuers(tenants, report);
  checkAudiences(tenants, report);
  const clientIds = new Set<string>();
  const jwtAudiences = new Set(tenants.flatMap(jwtAudiencesOf));
  tenants.forEach((tenant, tenantIndex) => {
    const inTenant: Report = (path, message) => report(['tenants', tenantIndex, ...path], message);
    checkResources(tenant, inTenant);
    refuseRepeated(tenant.roles, (index) => inTenant(['roles', index], 'is declared twice'));
    checkUsers(tenant, inTenant);
    tenant.applications.forEach((application, index) => {
      const here: Report = (path, message) => inTenant(['applications', index, ...path], message);
      if (clientIds.has(application.clientId)) here(['clientId'], 'is declared twice');
      clientIds.add(application.clientId);
      if (jwtAudiences.has(application.clientId)) here(['clientId'], jwtAudienceAsClientId);
      checkSecrets(application, here);
      checkApplication(application, tenant, here);
    });
  });
}
