import {
  adminAudience,
  adminResourceName,
  adminScopes,
  declaresNothing,
  issuesLikeKeycloak,
  type DeclaredUse,
} from '@tessera/oauth';
import { ChangeKind } from '@tessera/proto-gen/directory';
import { applicationFields } from './applications/fields.ts';
import { messageOf } from './fields/field.ts';
import type { Change } from './ground/append-changes.postgres.ts';
import { tenantFields, type TenantRecord } from './tenants/fields.ts';
import type { ListedIssuers } from './tenants/issuer.ts';
import { sentLooks } from './tenants/looks.ts';
import { userFields } from './users/fields.ts';
import { claimsOf } from './users/claims/standard-claims.ts';
import type { FoundApplication, FoundScope } from './applications/found-application.ts';
import type { FoundUser } from './users/found-user.ts';

const changeKinds = {
  tenant: ChangeKind.TENANT,
  application: ChangeKind.APPLICATION,
  user: ChangeKind.USER,
} as const satisfies Record<Change['kind'], ChangeKind>;

/** @param sendsMail whether this directory sends mail */
export function tenantMessage(tenant: TenantRecord, sendsMail: boolean) {
  return { tenantId: tenant.tenantId, ...messageOf(tenantFields, tenant), sendsMail };
}

/** @param uses what applications declare, by the tenant whose issuer it is, or '' for the shared one */
export function issuersMessage(
  { issuers, sharedAlgorithms }: ListedIssuers,
  uses: ReadonlyMap<string, DeclaredUse>,
) {
  const usedAt = (tenantId: string, algorithms: readonly string[]) => {
    const { idTokenAlgorithms, authenticationMethods, grantTypes } = uses.get(tenantId) ?? declaresNothing;
    return {
      algorithms: [...new Set([...algorithms, ...idTokenAlgorithms])],
      use: {
        idTokenAlgorithms: [...idTokenAlgorithms],
        authenticationMethods: [...authenticationMethods],
        grantTypes: [...grantTypes],
      },
    };
  };
  const shared = usedAt('', sharedAlgorithms);
  return {
    issuers: issuers.map((own) => {
      const { algorithms, use } = usedAt(own.tenantId, own.signingAlgorithms);
      return { ...own, signingAlgorithms: algorithms, declaredUse: use };
    }),
    sharedSigningAlgorithms: shared.algorithms,
    sharedDeclaredUse: shared.use,
  };
}

/** How the pages of a tenant look, and what they offer. */
export function looksMessage({ name, looks, status, registration }: TenantRecord, sendsMail: boolean) {
  const recovers = sendsMail && status === 'active';
  return { name, ...sentLooks(looks), registers: recovers && registration !== 'closed', recovers };
}

export function applicationMessage(found: FoundApplication, sendsMail: boolean) {
  const { application, scopes, tenant, validFrom } = found;
  return {
    application: {
      ...messageOf(applicationFields, application),
      ...(!issuesLikeKeycloak(tenant) && exactRedirects),
      tenantId: tenant.tenantId,
      scopes: scopes.map(scopeMessage),
      validFrom: BigInt(validFrom),
    },
    tenant: tenantMessage(tenant, sendsMail),
  };
}

/** Without an issuer with the paths of Keycloak, a tenant has what the contract asks for alone. */
const exactRedirects = { redirectUriPrefixes: [], logoutRedirectUriPrefixes: [] };

/** A scope that no resource of the tenant declares may be one of the administration. */
function scopeMessage(scope: FoundScope) {
  const description = scope.audience === '' ? adminScopes.get(scope.name) : undefined;
  if (description === undefined) return { ...scope };
  return { ...scope, audience: adminAudience, description, resourceName: adminResourceName };
}

/** Never with the password hash. */
export function userMessage(found: FoundUser) {
  const { user, updatedAt, tenant, validFrom, secondFactors, unlockedAt, lockedDownAt } = found;
  const isExtended = Object.keys(user.standardClaims).length > 0;
  return {
    ...messageOf(userFields, user),
    userId: user.userId,
    tenantId: tenant.tenantId,
    validFrom: BigInt(validFrom),
    secondFactors: [...secondFactors],
    unlockedAtMs: BigInt(unlockedAt),
    lockedDownAt: BigInt(lockedDownAt),
    // Without declared claims a user has those of the contract and no others, so no updated_at either.
    ...(isExtended && { standardClaims: { ...claimsOf(user.standardClaims), updated_at: updatedAt } }),
  };
}

export function changeKind(kind: Change['kind']): ChangeKind {
  return changeKinds[kind];
}
