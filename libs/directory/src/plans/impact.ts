import type { ApplicationRecord } from '../applications/fields.ts';
import type { UserRecord } from '../users/fields.ts';
import { deletionEnds, endsBy } from '../endings/endings.ts';
import { endsOf, type TenantPlan } from './plan.ts';

/** People and applications, counted and the first hundred named, in order. */
export interface Everybody {
  readonly people: number;
  readonly usernames: string[];
  readonly applications: number;
  readonly clientIds: string[];
}

/** For whom a plan ends everything that was issued before, for good. */
export interface Impact extends Everybody {
  /** People whose addresses are no longer verified, as the provider that proved them may no longer say so. */
  readonly noLongerVerified: number;
  /** People whose addresses are verified again. */
  readonly verifiedAgain: number;
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
      authenticationPolicy: string;
    }[];
    /** Absent: the tenant keeps the one that it has. */
    readonly authenticationPolicy?: string;
  };
}

export const mostNames = 100;

/** Whether a plan ends everything of the tenant. */
export function endsTenant(plan: TenantPlan): boolean {
  return (plan.tenant === 'deleted' && deletionEnds('tenant')) || endsOf(plan).tenant;
}

/**
 * The people and applications for whom a plan ends what was issued before, for good: those that are deleted or change
 * in a way that ends it. And what else decides whether a refresh, or a session, is accepted.
 */
export function impactOf(plan: TenantPlan): Impact {
  const { current, desired, users, applications } = plan;
  const { tenantId, authenticationPolicy } = desired.tenant;
  const verifiedAgain = plan.judged.filter(({ isVerified }) => isVerified).length;
  const judged = { noLongerVerified: plan.judged.length - verifiedAgain, verifiedAgain };
  if (endsTenant(plan)) {
    const everybody = countOf(current?.users ?? [], current?.applications ?? []);
    return { ...everybody, ...judged, ends: { tenantId, everything: true } };
  }
  const ends = endsOf(plan);
  const leaving = deletionEnds('user') ? users.deleted : [];
  const removed = deletionEnds('application') ? applications.deleted : [];
  const userIds = new Set([...ends.people, ...leaving].map(({ userId }) => userId));
  const clientIds = new Set([...ends.applications, ...removed].map(({ clientId }) => clientId));
  const people = (current?.users ?? []).filter(({ userId }) => userIds.has(userId));
  const clients = (current?.applications ?? []).filter(({ clientId }) => clientIds.has(clientId));
  const isRaised = current !== undefined && endsBy('refused', 'tenant', current.tenant, desired.tenant);
  return {
    ...countOf(people, clients),
    ...judged,
    ends: {
      tenantId,
      userIds: [...userIds],
      clientIds: [...clientIds],
      people: users.updated
        .filter(({ before, after }) => !userIds.has(after.userId) && endsBy('refused', 'user', before, after))
        .map(({ after: { userId, roles } }) => ({ userId, roles: [...roles] })),
      applications: applications.updated
        .filter(
          ({ before, after }) =>
            !clientIds.has(after.clientId) && endsBy('refused', 'application', before, after),
        )
        .map(({ after }) => ({
          clientId: after.clientId,
          allowedRoles: [...after.allowedRoles],
          grantTypes: [...after.grantTypes],
          scopes: [...after.scopes],
          authenticationPolicy: after.authenticationPolicy,
        })),
      ...(isRaised && { authenticationPolicy }),
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

function firstOf(names: readonly string[]): string[] {
  return names.toSorted().slice(0, mostNames);
}
