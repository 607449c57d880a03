import { Code, ConnectError } from '@tessera/rpc';
import { ApplicationType, ChangeKind, Status } from '@tessera/proto-gen/directory';
import type { ClaimObject } from '@tessera/oauth';
import type { Attributes } from './declared/custom-claims.ts';
import type { StandardClaims } from './declared/standard-claims.ts';
import type { Change, TenantRecord, UserRecord, UserStatus } from './store/records.ts';
import type { FoundApplication, FoundUser, ListedSecret } from './store/store.ts';

const statuses = {
  active: Status.ACTIVE,
  disabled: Status.DISABLED,
  locked: Status.LOCKED,
} as const satisfies Record<UserStatus, Status>;

const types = { public: ApplicationType.PUBLIC, confidential: ApplicationType.CONFIDENTIAL } as const;

const changeKinds = {
  tenant: ChangeKind.TENANT,
  application: ChangeKind.APPLICATION,
  user: ChangeKind.USER,
} as const satisfies Record<Change['kind'], ChangeKind>;

export function tenantMessage(tenant: TenantRecord) {
  return { ...tenant, status: statuses[tenant.status] };
}

export function applicationMessage(found: FoundApplication) {
  const { application, scopes, tenant, validFrom } = found;
  return {
    application: {
      clientId: application.clientId,
      tenantId: tenant.tenantId,
      name: application.name,
      type: types[application.type],
      status: statuses[application.status],
      grantTypes: [...application.grantTypes],
      redirectUris: [...application.redirectUris],
      logoutRedirectUris: [...application.logoutRedirectUris],
      scopes: scopes.map((scope) => ({ ...scope })),
      lifetimes: { ...application.lifetimes },
      ciba: { ...application.ciba },
      introspectAudiences: [...application.introspectAudiences],
      validFrom: BigInt(validFrom),
      authenticatedStartRequired: application.authenticatedStart === 'required',
      allowedRoles: [...application.allowedRoles],
      idTokenClaims: [...application.idTokenClaims],
      pkceOptional: application.pkce === 'optional',
      backchannelLogoutUri: application.backchannelLogoutUri,
      backchannelLogoutSessionRequired: application.backchannelLogoutSessionRequired,
      claims: Object.entries(application.claims).map(([name, { attribute = '', targets }]) => ({
        name,
        attribute,
        idToken: targets.includes('idToken'),
        accessToken: targets.includes('accessToken'),
        userinfo: targets.includes('userinfo'),
      })),
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
    status: statuses[user.status],
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

/** Undefined for an unspecified or unknown status. */
export function statusName(status: Status): UserRecord['status'] | undefined {
  const names: Partial<Record<Status, UserStatus>> = {
    [Status.ACTIVE]: 'active',
    [Status.DISABLED]: 'disabled',
    [Status.LOCKED]: 'locked',
  };
  return names[status];
}

/** The same message for a missing record and for one of another tenant. */
export function notFound(what: string): ConnectError {
  return new ConnectError(`${what} is not known.`, Code.NotFound);
}
