import { Code, ConnectError } from '@tessera/rpc';
import { ChangeKind } from '@tessera/proto-gen/directory';
import type { ClaimObject } from '@tessera/oauth';
import { applicationFields } from './applications/fields.ts';
import { messageOf } from './fields/field.ts';
import { statusSent } from './fields/status.ts';
import type { Attributes } from './users/attributes.ts';
import type { StandardClaims } from './users/standard-claims.ts';
import type { Change, TenantRecord } from './store/records.ts';
import type { FoundApplication, FoundUser, ListedSecret } from './store/store.ts';

const changeKinds = {
  tenant: ChangeKind.TENANT,
  application: ChangeKind.APPLICATION,
  user: ChangeKind.USER,
} as const satisfies Record<Change['kind'], ChangeKind>;

export function tenantMessage(tenant: TenantRecord) {
  return { ...tenant, ...statusSent(tenant.status) };
}

export function applicationMessage(found: FoundApplication) {
  const { application, scopes, tenant, validFrom } = found;
  return {
    application: {
      ...messageOf(applicationFields, application),
      tenantId: tenant.tenantId,
      scopes: scopes.map((scope) => ({ ...scope })),
      validFrom: BigInt(validFrom),
    },
    tenant: tenantMessage(tenant),
  };
}

/** Never with the password hash. */
export function userMessage({ user, updatedAt, tenant, validFrom }: FoundUser) {
  const isExtended = Object.keys(user.standardClaims).length > 0;
  return {
    userId: user.userId,
    tenantId: tenant.tenantId,
    username: user.username,
    email: user.email,
    name: user.name,
    phoneNumber: user.phoneNumber,
    roles: [...user.roles],
    ...statusSent(user.status),
    validFrom: BigInt(validFrom),
    // Without declared claims a user has those of the contract and no others, so no updated_at either.
    ...(Object.keys(user.attributes).length > 0 && { attributes: attributesOf(user.attributes) }),
    ...(isExtended && { standardClaims: { ...claimsOf(user.standardClaims), updated_at: updatedAt } }),
  };
}

function attributesOf(attributes: Attributes): ClaimObject {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]),
  );
}

/** Standard claims by their registered names: `givenName` becomes `given_name`, in an address too. */
function claimsOf(declared: StandardClaims | NonNullable<StandardClaims['address']>): ClaimObject {
  const claims: ClaimObject = {};
  for (const [key, value] of Object.entries(declared)) {
    const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (value !== undefined) claims[name] = typeof value === 'object' ? claimsOf(value) : value;
  }
  return claims;
}

/** Never with the digest. */
export function secretMessage({ createdAt, expiresAt = 0, lastUsedAt = 0 }: ListedSecret) {
  return {
    createdAt: seconds(createdAt),
    expiresAt: seconds(expiresAt),
    lastUsedAt: seconds(lastUsedAt),
  };
}

/** Of milliseconds. */
export function seconds(milliseconds: number): bigint {
  return BigInt(Math.floor(milliseconds / 1000));
}

export function changeKind(kind: Change['kind']): ChangeKind {
  return changeKinds[kind];
}

/** The same message for a missing record and for one of another tenant. */
export function notFound(what: string): ConnectError {
  return new ConnectError(`${what} is not known.`, Code.NotFound);
}
