import { keyOfTrust } from '../applications/trusts.ts';
import { jwtAudiencesOf } from '../resources/checks.ts';
import type { TenantPlan } from './plan.ts';
import type { TenantState } from './tenant-state.ts';

/** What a tenant gets that other tenants must not have. */
export interface ClaimedValues {
  readonly clientIds: readonly string[];
  /** Empty for a tenant at the shared issuer. */
  readonly issuer: string;
  /** Audiences of a tenant at the shared issuer. Two tenants may have one if both say that it is shared. */
  readonly audiences: readonly ClaimedAudience[];
  /** Audiences whose access tokens have the `typ` of ID tokens; none may be the client id of another tenant. */
  readonly jwtAudiences: readonly string[];
  /**
   * Of a tenant at the shared issuer. There no audience is the client id of another tenant: verifiers of ID tokens that
   * do not look at `typ`, as that of Kubernetes, would take its access tokens for them.
   */
  readonly sharedIssuer: { readonly clientIds: readonly string[]; readonly audiences: readonly string[] };
  /** As `keyOfTrust` has them: one token proves to be one application. `of`: the applications of the plan. */
  readonly trusts: { readonly keys: readonly string[]; readonly of: readonly string[] };
}

export interface ClaimedAudience {
  readonly audience: string;
  readonly shared: boolean;
}

/**
 * What a plan claims that the tenant did not have before, for all owners: a tenant that comes back to the shared issuer
 * brings all of its audiences there. What it had already is not claimed again, so that records from before a rule keep
 * no other change from being made.
 */
export function claimedValues({ current, desired }: Pick<TenantPlan, 'current' | 'desired'>): ClaimedValues {
  const [before, after] = [current && heldValues(current), heldValues(desired)];
  const clientIds = new Set(before?.clientIds);
  const jwtAudiences = new Set(before?.jwtAudiences);
  const atShared = {
    clientIds: new Set(before?.sharedIssuer.clientIds),
    audiences: new Set(before?.sharedIssuer.audiences),
  };
  const trusts = new Set(before?.trusts.keys);
  const audiences = new Map(before?.audiences.map(({ audience, shared }) => [audience, shared]));
  const isNew = ({ audience, shared }: ClaimedAudience): boolean => {
    const wasShared = audiences.get(audience);
    // To share it claims less than to have it alone.
    return wasShared === undefined || (wasShared && !shared);
  };
  return {
    clientIds: after.clientIds.filter((clientId) => !clientIds.has(clientId)),
    issuer: after.issuer === before?.issuer ? '' : after.issuer,
    audiences: after.audiences.filter(isNew),
    jwtAudiences: after.jwtAudiences.filter((audience) => !jwtAudiences.has(audience)),
    sharedIssuer: {
      clientIds: after.sharedIssuer.clientIds.filter((clientId) => !atShared.clientIds.has(clientId)),
      audiences: after.sharedIssuer.audiences.filter((audience) => !atShared.audiences.has(audience)),
    },
    trusts: {
      keys: after.trusts.keys.filter((trust) => !trusts.has(trust)),
      of: [...clientIds, ...after.clientIds],
    },
  };
}

/** Everything of a tenant that other tenants must not have. */
export function heldValues({ tenant: { issuer }, applications, resources }: TenantState): ClaimedValues {
  const clientIds = applications.map(({ clientId }) => clientId);
  const audiences = resources.map(({ audience }) => audience);
  const isShared = issuer === '';
  return {
    clientIds,
    issuer,
    audiences: isShared ? resources.map(({ audience, shared }) => ({ audience, shared })) : [],
    jwtAudiences: jwtAudiencesOf({ resources }),
    sharedIssuer: isShared ? { clientIds, audiences } : { clientIds: [], audiences: [] },
    trusts: { keys: applications.flatMap(({ trusts }) => trusts.map(keyOfTrust)), of: clientIds },
  };
}

export function claimsNothing({
  clientIds,
  issuer,
  audiences,
  jwtAudiences,
  sharedIssuer,
  trusts,
}: ClaimedValues): boolean {
  const lists = [clientIds, audiences, jwtAudiences, sharedIssuer.clientIds, sharedIssuer.audiences];
  lists.push(trusts.keys);
  return lists.every(({ length }) => length === 0) && issuer === '';
}
