import type { GrantTypeName } from '@tessera/oauth';
import type { Attributes } from '../declared/custom-claims.ts';
import type { StandardClaims } from '../declared/standard-claims.ts';
import type { ApplicationRecord, Status, TenantRecord, UserRecord, UserStatus } from './records.ts';

export interface TenantRow {
  readonly tenant_id: string;
  readonly tenant_name: string;
  readonly tenant_status: Status;
  readonly tenant_issuer: string;
}

/**
 * SQL: the value of `valid_from` after a change now, if it was `present`. It grows with every change, so that a sign-in
 * between two changes in one second does not outlive the second change.
 */
export const validFromNow = (present: string): string =>
  `greatest(${present} + 1, floor(extract(epoch FROM clock_timestamp()))::bigint + 1)`;

export const tenantColumns =
  't.tenant_id, t.name AS tenant_name, t.status AS tenant_status, t.issuer AS tenant_issuer';

export function tenantOf(row: TenantRow): TenantRecord {
  const { tenant_id: tenantId, tenant_name: name, tenant_status: status, tenant_issuer: issuer } = row;
  return { tenantId, name, status, issuer };
}

export interface UserRow {
  readonly user_id: string;
  readonly username: string;
  readonly email: string;
  readonly name: string;
  readonly phone_number: string;
  readonly standard_claims: StandardClaims;
  readonly attributes: Attributes;
  readonly status: UserStatus;
  readonly password_hash: string | null;
  readonly roles: readonly string[];
}

export const userColumns = `u.user_id, u.username, u.email, u.name, u.phone_number, u.standard_claims, u.attributes, u.status,
  u.password_hash,   ARRAY(SELECT r.role FROM directory.user_role r
         WHERE r.tenant_id = u.tenant_id AND r.user_id = u.user_id ORDER BY r.position) AS roles`;

export function userOf(row: UserRow): UserRecord {
  return {
    userId: row.user_id,
    username: row.username,
    email: row.email,
    name: row.name,
    phoneNumber: row.phone_number,
    standardClaims: row.standard_claims,
    attributes: row.attributes,
    roles: row.roles,
    status: row.status,
    passwordHash: row.password_hash ?? undefined,
  };
}

export interface ApplicationRow {
  readonly client_id: string;
  readonly name: string;
  readonly type: ApplicationRecord['type'];
  readonly status: Status;
  readonly grant_types: readonly GrantTypeName[];
  readonly redirect_uris: readonly string[];
  readonly logout_redirect_uris: readonly string[];
  readonly introspect_audiences: readonly string[];
  readonly access_token_lifetime: number;
  readonly id_token_lifetime: number;
  readonly refresh_token_idle_lifetime: number;
  readonly refresh_token_absolute_lifetime: number;
  readonly authorization_request_lifetime: number;
  readonly authorization_code_lifetime: number;
  readonly poll_interval: number;
  readonly ciba_approval: ApplicationRecord['ciba']['approval'];
  readonly ciba_url: string;
  readonly ciba_delivery: ApplicationRecord['ciba']['delivery'];
  readonly ciba_notification_endpoint: string;
  readonly authenticated_start: ApplicationRecord['authenticatedStart'];
  readonly allowed_roles: readonly string[];
  readonly pkce: ApplicationRecord['pkce'];
  readonly backchannel_logout_uri: string;
  readonly backchannel_logout_session_required: boolean;
  readonly claims: ApplicationRecord['claims'];
  readonly id_token_claims: readonly string[];
}

export const applicationColumns = `a.client_id, a.name, a.type, a.status, a.grant_types, a.redirect_uris,
  a.logout_redirect_uris, a.introspect_audiences, a.access_token_lifetime, a.id_token_lifetime,
  a.refresh_token_idle_lifetime, a.refresh_token_absolute_lifetime, a.authorization_request_lifetime,
  a.authorization_code_lifetime, a.poll_interval, a.ciba_approval, a.ciba_url, a.ciba_delivery, a.ciba_notification_endpoint,
  a.allowed_roles, a.pkce, a.authenticated_start, a.backchannel_logout_uri,
  a.backchannel_logout_session_required, a.claims, a.id_token_claims`;

export function applicationOf(row: ApplicationRow): Omit<ApplicationRecord, 'scopes' | 'secrets'> {
  return {
    clientId: row.client_id,
    name: row.name,
    type: row.type,
    status: row.status,
    grantTypes: row.grant_types,
    redirectUris: row.redirect_uris,
    logoutRedirectUris: row.logout_redirect_uris,
    introspectAudiences: row.introspect_audiences,
    lifetimes: {
      accessToken: row.access_token_lifetime,
      idToken: row.id_token_lifetime,
      refreshTokenIdle: row.refresh_token_idle_lifetime,
      refreshTokenAbsolute: row.refresh_token_absolute_lifetime,
      authorizationRequest: row.authorization_request_lifetime,
      authorizationCode: row.authorization_code_lifetime,
      pollInterval: row.poll_interval,
    },
    ciba: {
      approval: row.ciba_approval,
      url: row.ciba_url,
      delivery: row.ciba_delivery,
      notificationEndpoint: row.ciba_notification_endpoint,
    },
    authenticatedStart: row.authenticated_start,
    allowedRoles: row.allowed_roles,
    pkce: row.pkce,
    backchannelLogoutUri: row.backchannel_logout_uri,
    backchannelLogoutSessionRequired: row.backchannel_logout_session_required,
    claims: row.claims,
    idTokenClaims: row.id_token_claims,
  };
}
