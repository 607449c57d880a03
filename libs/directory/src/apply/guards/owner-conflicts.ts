import { checkApplication } from '../../applications/checks.ts';
import type { Part } from '../../declared/part.ts';
import { keyOf } from '../../fields/path.ts';
import { listedKinds, recordKinds, recordName, type ListedKind } from '../../record-kinds.ts';
import type { Report } from '../../fields/field-checks.ts';
import { checkProviders } from '../../providers/checks.ts';
import { checkResources, jwtAudienceAsClientId, jwtAudiencesOf } from '../../resources/checks.ts';
import type { TenantState } from '../../plans/tenant-state.ts';
import { checkUsers } from '../../users/checks.ts';
import { shortened } from './unallowed-changes.ts';
import type { Difference, TenantPlan } from '../../plans/plan.ts';

/** A plan changes records of other owners, or what they refer to. The message lists them by kind, name and owner. */
export class OwnerConflictError extends Error {
  override readonly name = 'OwnerConflictError';
}

interface Owned {
  readonly owner: string;
}

/**
 * Throws OwnerConflictError for a plan of `owner` that does not leave the records of others as they are, or breaks
 * those that stay.
 */
export function refuseConflicts(
  plan: TenantPlan,
  { owner, part }: { readonly owner: string; readonly part: Part },
): void {
  const { current, desired } = plan;
  const updated = plan.users.updated.filter(({ after }) => !plan.taken.has(after.userId));
  const differences = { ...plan, users: { ...plan.users, updated } };
  const { tenantId } = desired.tenant;
  const changed = [
    ...(plan.tenant === 'updated' && desired.tenant.owner !== owner
      ? [`tenant ${tenantId}, of ${quoted(desired.tenant)}`]
      : []),
    ...listedKinds.flatMap((kind) => changedByOthers(kind, differences[recordKinds[kind].list], owner)),
  ];
  if (changed.length > 0) {
    throw new OwnerConflictError(
      `Nothing of ${tenantId} was applied: it would change records of other owners than ${JSON.stringify(owner)}:\n` +
        `${shortened(changed)}\nChange them there, leave them out, or take them over with --take-over.`,
    );
  }
  const isShared = current !== undefined && (part.keptKinds.size > 0 || hasOthers(current, owner));
  const broken = isShared ? brokenRecords(desired) : [];
  if (broken.length > 0) {
    throw new OwnerConflictError(
      `Nothing of ${tenantId} was applied: together with the records ${part.keptKinds.size > 0 ? 'that stay' : 'of other owners'} it breaks rules of\n${shortened(broken)}`,
    );
  }
}

function changedByOthers(kind: ListedKind, { updated }: Pick<Difference<Owned>, 'updated'>, owner: string) {
  return updated
    .filter(({ after }) => after.owner !== owner)
    .map(({ after }) => `${kind} ${recordName(kind, after)}, of ${quoted(after)}`);
}

function hasOthers(state: TenantState, owner: string): boolean {
  const owned: readonly Owned[] = listedKinds.flatMap((kind) => [...state[recordKinds[kind].list]]);
  return owned.some((record) => record.owner !== owner);
}

/** The records of a tenant that refer to something that it lacks, or share what must be unique. */
function brokenRecords({
  tenant,
  resources,
  roles: allRoles,
  providers,
  users,
  applications,
}: TenantState): string[] {
  const broken: string[] = [];
  const reportOf =
    (kind: ListedKind, records: readonly Owned[]): Report =>
    ([, index, ...path], message) => {
      const record = records[Number(index)];
      if (record !== undefined)
        broken.push(`${kind} ${recordName(kind, record)}, of ${quoted(record)}: ${keyOf(path)} ${message}`);
    };
  const roles = allRoles.map(({ name }) => name);
  checkResources({ resources }, reportOf('resource', resources), { roles });
  checkProviders({ issuer: tenant.issuer, providers }, reportOf('provider', providers));
  const people = users.map(({ standardClaims, passwordHash: _, ...user }) => ({
    ...user,
    ...standardClaims,
  }));
  checkUsers({ users: people, roles }, reportOf('user', users));
  const report = reportOf('application', applications);
  const jwtAudiences = new Set(jwtAudiencesOf({ resources }));
  applications.forEach((application, index) => {
    const here: Report = (path, message) => report(['applications', index, ...path], message);
    if (jwtAudiences.has(application.clientId)) here(['clientId'], jwtAudienceAsClientId);
    checkApplication(application, { endpoints: tenant.endpoints, resources, roles }, here);
  });
  return broken;
}

function quoted({ owner }: Owned): string {
  return `the owner ${JSON.stringify(owner)}`;
}
