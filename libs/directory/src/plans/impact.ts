import { isDeepStrictEqual } from 'node:util';
import type { ApplicationRecord } from '../applications/fields.ts';
import type { UserRecord } from '../users/fields.ts';
import { endsAll } from '../endings/ending-fields.ts';
import type { Difference, TenantPlan } from './plan.ts';

/** People and applications, counted and the first hundred named, in order. */
export interface Everybody {
  readonly people: number;
  readonly usernames: string[];
  readonly applications: number;
  readonly clientIds: string[];
}

/** For whom a plan ends everything that was issued before, for good. */
export interface Impact extends Everybody {
  /** By what other services count what they have. */
  readonly ends: {
    readonly tenantId: string;
    readonly everything?: true;
    readonly userIds?: string[];
    readonly clientIds?: string[];
    /** Who gets other roles. */
    readonly people?: { userId: string; roles: string[] }[];
    /** Those of which a field changes that a refresh asks for. */
    readonly applications?: {
      clientId: string;
      allowedRoles: string[];
      grantTypes: string[];
      scopes: string[];
    }[];
    /** Absent: the tenant keeps the one that it has. */
    readonly issuer?: string;
  };
}

export const mostNames = 100;

/** Fields that decide whether a refresh is accepted, for as long as they have that value. */
const refreshFields = ['allowedRoles', 'grantTypes', 'scopes'] as const;

/** Whether a plan ends everything of the tenant. */
export function endsTenant({ tenant, current, desired }: TenantPlan): boolean {
  return tenant === 'deleted' || (current !== undefined && endsAll('tenant', current.tenant, desired.tenant));
}

/**
 * The people and applications for whom a plan ends what was issued before, for good: those that are deleted or get another value of an
 * ending field. With another status of the tenant, everybody. And what else decides whether a refresh is accepted.
 */
export function impactOf(plan: TenantPlan): Impact {
  const { current, desired, users, applications } = plan;
  const { tenantId, issuer } = desired.tenant;
  if (endsTenant(plan)) {
    const everybody = countOf(current?.users ?? [], current?.applications ?? []);
    return { ...everybody, ends: { tenantId, everything: true } };
  }
  const people = endedIn('user', users);
  const clients = endedIn('application', applications);
  const [userIds, clientIds] = [
    new Set(people.map(({ userId }) => userId)),
    new Set(clients.map(({ clientId }) => clientId)),
  ];
  return {
    ...countOf(people, clients),
    ends: {
      tenantId,
      userIds: [...userIds],
      clientIds: [...clientIds],
      people: users.updated
        .filter(
          ({ before, after }) => !userIds.has(after.userId) && !isDeepStrictEqual(before.roles, after.roles),
        )
        .map(({ after: { userId, roles } }) => ({ userId, roles: [...roles] })),
      applications: applications.updated
        .filter(
          ({ before, after }) =>
            !clientIds.has(after.clientId) &&
            refreshFields.some((field) => !isDeepStrictEqual(before[field], after[field])),
        )
        .map(({ after: { clientId, allowedRoles, grantTypes, scopes } }) => ({
          clientId,
          allowedRoles: [...allowedRoles],
          grantTypes: [...grantTypes],
          scopes: [...scopes],
        })),
      ...(current !== undefined && current.tenant.issuer !== issuer && { issuer }),
    },
  };
}

function countOf(people: readonly UserRecord[], clients: readonly ApplicationRecord[]): Everybody {
  return {
    people: people.length,
    usernames: firstOf(people.map(({ username }) => username)),
    applications: clients.length,
    clientIds: firstOf(clients.map(({ clientId }) => clientId)),
  };
}

function endedIn<T extends UserRecord | ApplicationRecord>(
  kind: T extends UserRecord ? 'user' : 'application',
  { updated, deleted }: Difference<T>,
): T[] {
  const changed = updated.filter(({ before, after }) => endsAll(kind, before as never, after as never));
  return [...changed.map(({ before }) => before), ...deleted];
}

function firstOf(names: readonly string[]): string[] {
  return names.toSorted().slice(0, mostNames);
}
