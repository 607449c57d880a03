import { isDeepStrictEqual } from 'node:util';
import { checkApplication, checkSecrets } from '../applications/checks.ts';
import { keyOfTrust, trustOfOurs, trustTaken } from '../applications/trusts.ts';
import { refuseRepeated, type Report } from '../fields/field-checks.ts';
import { listedKinds, recordKinds, recordName, type ListedKind } from '../record-kinds.ts';
import { checkProviders } from '../providers/checks.ts';
import {
  checkAudiences,
  checkResources,
  jwtAudienceAsClientId,
  jwtAudiencesOf,
} from '../resources/checks.ts';
import { checkIssuers } from '../tenants/checks.ts';
import { checkUsers } from '../users/checks.ts';
import { tenantFields } from '../tenants/fields.ts';
import { tenant, type DeclaredTenant } from './schema.ts';
import type { Surroundings } from './surroundings.ts';

/**
 * The rules that involve more than one key.
 * @param around what a tenant has besides what is declared
 */
export function checkRules(
  tenants: readonly DeclaredTenant[],
  report: Report,
  around: (tenant: DeclaredTenant) => Surroundings,
): void {
  refuseRepeated(
    tenants.map((tenant) => tenant.id),
    (index) => report(['tenants', index, 'id'], 'is declared twice'),
  );
  checkIssuers(tenants, report);
  checkAudiences(tenants, report);
  const clientIds = new Set<string>();
  const trusted = new Map<string, string>();
  const issuers = new Set(tenants.map(({ issuer }) => issuer).filter((issuer) => issuer !== ''));
  const jwtAudiences = new Set(tenants.flatMap(jwtAudiencesOf));
  tenants.forEach((tenant, tenantIndex) => {
    const inTenant: Report = (path, message) => report(['tenants', tenantIndex, ...path], message);
    const others = around(tenant);
    checkReference(tenant, inTenant);
    const roles = [...tenant.roles, ...others.roles];
    checkResources(tenant, inTenant, { others: others.resources, roles });
    checkNames(tenant, inTenant);
    checkProviders(tenant, inTenant, others.providers);
    checkUsers({ users: tenant.users, roles }, inTenant, others.identifiers);
    const { endpoints } = tenant.name === undefined ? others : tenant;
    const known = { endpoints, resources: [...tenant.resources, ...others.resources], roles };
    const theirJwtAudiences = jwtAudiencesOf(others);
    tenant.applications.forEach((application, index) => {
      const here: Report = (path, message) => inTenant(['applications', index, ...path], message);
      const { clientId } = application;
      if (clientIds.has(clientId)) here(['clientId'], 'is declared twice');
      clientIds.add(clientId);
      if (jwtAudiences.has(clientId) || theirJwtAudiences.includes(clientId))
        here(['clientId'], jwtAudienceAsClientId);
      application.trusts.map(keyOfTrust).forEach((trust, place) => {
        if ((trusted.get(trust) ?? clientId) !== clientId) here(['trusts', place], trustTaken);
        trusted.set(trust, clientId);
      });
      application.trusts.forEach(({ issuer, audience }, place) => {
        if (issuers.has(issuer) || issuers.has(audience)) here(['trusts', place], trustOfOurs);
      });
      checkSecrets(application, here);
      checkApplication(application, known, here);
    });
  });
}

/** Kinds whose own rules say which names may not be repeated. */
const withOwnRules: readonly ListedKind[] = ['resource', 'provider', 'user', 'application'];

function checkNames(declared: DeclaredTenant, report: Report): void {
  for (const kind of listedKinds.filter((each) => !withOwnRules.includes(each))) {
    const { list, name } = recordKinds[kind];
    const entries: readonly (object | string)[] = declared[list];
    refuseRepeated(
      entries.map((entry) => recordName(kind, entry)),
      (index) =>
        report([list, index, ...(typeof entries[index] === 'string' ? [] : [name])], 'is declared twice'),
    );
  }
}

const least = tenant.parse({ id: 'least' });

/**
 * An entry declares its tenant, or only refers to it: then it has none of the tenant's own keys, which would have no
 * effect.
 */
function checkReference(declared: DeclaredTenant, report: Report): void {
  if (declared.name !== undefined) return;
  for (const key of Object.keys(tenantFields) as (keyof typeof tenantFields)[]) {
    if (!isDeepStrictEqual(declared[key], least[key]))
      report([key], 'needs name: without it the entry only refers to the tenant');
  }
}
