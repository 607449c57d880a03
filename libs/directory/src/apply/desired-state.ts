import type { DeclaredApplication, DeclaredTenant, DeclaredUser } from '../declared/schema.ts';
import { standardClaimsOf } from '../declared/standard-claims.ts';
import type { ClientSecrets } from '../client-secrets/client-secrets.ts';
import {
  normalizeIdentifier,
  type ApplicationRecord,
  type LifetimesRecord,
  type SecretRecord,
  type TenantState,
  type UserRecord,
} from '../store/records.ts';

export interface DesiredOptions {
  readonly secrets: ClientSecrets;
  /** By normalized user name, for users with a declared password or hash. */
  readonly passwordHashes: ReadonlyMap<string, string>;
  readonly newUserId: () => string;
}

/**
 * The desired state of a tenant. The declared state is the whole of the tenant, except that an undeclared status or password
 * stays as it is, so that applying a file again never enables what was disabled.
 */
export function desiredState(
  declared: DeclaredTenant,
  current: TenantState | undefined,
  options: DesiredOptions,
): TenantState {
  const users = new Map(current?.users.map((user) => [normalizeIdentifier(user.username), user]));
  const applications = new Map(
    current?.applications.map((application) => [application.clientId, application]),
  );
  return {
    tenant: {
      tenantId: declared.id,
      name: declared.name,
      status: declared.status ?? current?.tenant.status ?? 'active',
      issuer: declared.issuer ?? '',
    },
    resources: declared.resources,
    roles: declared.roles,
    users: declared.users.map((user) =>
      desiredUser(user, users.get(normalizeIdentifier(user.username)), options),
    ),
    applications: declared.applications.map((application) =>
      desiredApplication(declared.id, application, applications.get(application.clientId), options.secrets),
    ),
  };
}

function desiredUser(
  declared: DeclaredUser,
  current: UserRecord | undefined,
  { passwordHashes, newUserId }: DesiredOptions,
): UserRecord {
  return {
    userId: current?.userId ?? newUserId(),
    username: declared.username,
    email: declared.email,
    name: declared.name,
    phoneNumber: declared.phoneNumber,
    standardClaims: standardClaimsOf(declared),
    attributes: declared.attributes,
    roles: declared.roles,
    status: declared.status ?? current?.status ?? 'active',
    passwordHash: passwordHashes.get(normalizeIdentifier(declared.username)) ?? current?.passwordHash,
  };
}

function desiredApplication(
  tenantId: string,
  declared: DeclaredApplication,
  current: ApplicationRecord | undefined,
  secrets: ClientSecrets,
): ApplicationRecord {
  const { clientId } = declared;
  const known = current?.secrets.map(({ digest }) => digest) ?? [];
  const age = ({ digest }: SecretRecord) => (known.includes(digest) ? known.indexOf(digest) : known.length);
  return {
    clientId,
    name: declared.name,
    type: declared.type,
    status: declared.status ?? current?.status ?? 'active',
    grantTypes: declared.grantTypes,
    redirectUris: declared.redirectUris,
    logoutRedirectUris: declared.logoutRedirectUris,
    scopes: declared.scopes,
    introspectAudiences: declared.introspectAudiences,
    lifetimes: lifetimes(declared),
    ciba: {
      approval: declared.ciba?.approval ?? '',
      url: declared.ciba?.url ?? '',
      delivery: declared.ciba?.delivery ?? 'poll',
      notificationEndpoint: declared.ciba?.notificationEndpoint ?? '',
    },
    authenticatedStart: declared.authenticatedStart,
    allowedRoles: declared.allowedRoles ?? [],
    pkce: declared.pkce,
    backchannelLogoutUri: declared.backchannelLogoutUri ?? '',
    backchannelLogoutSessionRequired: declared.backchannelLogoutSessionRequired,
    claims: declared.claims,
    idTokenClaims: declared.idTokenClaims,
    secrets: declared.secrets
      .map((secret) => ({
        digest: secrets.digest(tenantId, clientId, secret.value),
        expiresAt: secret.expiresAt,
      }))
      .sort((left, right) => age(left) - age(right)),
  };
}

function lifetimes({ lifetimes: declared }: DeclaredApplication): LifetimesRecord {
  return {
    accessToken: declared.accessToken ?? 0,
    idToken: declared.idToken ?? 0,
    refreshTokenIdle: declared.refreshTokenIdle ?? 0,
    refreshTokenAbsolute: declared.refreshTokenAbsolute ?? 0,
    authorizationRequest: declared.authorizationRequest ?? 0,
    authorizationCode: declared.authorizationCode ?? 0,
    pollInterval: declared.pollInterval ?? 0,
  };
}
