import { UserGrantSchema, type UserGrant } from '@tessera/proto-gen/oauth';
import { create, storedMessage } from '@tessera/rpc';

const stored = storedMessage(UserGrantSchema);

/**
 * The columns of a family that hold its grant. Those besides `user_grant` are what statements compare, and the grant of
 * a family that version 0.1 started (compatibility until 0.4).
 */
export const grantColumnNames = `tenant_id, client_id, user_id, user_grant, scopes, resource, session_id, issuer, auth_time,
    userinfo_claims, id_token_claims`;

export const grantColumns = grantColumnNames.replace('auth_time', 'auth_time::float8 AS auth_time');

export interface GrantRow {
  readonly tenant_id: string;
  readonly client_id: string;
  readonly user_id: string;
  /** Null from version 0.1. */
  readonly user_grant: Parameters<typeof stored.decode>[0] | null;
  readonly scopes: string[];
  readonly resource: string;
  readonly session_id: string;
  readonly issuer: string;
  readonly auth_time: number;
  readonly userinfo_claims: string[];
  readonly id_token_claims: string[];
}

/** The grant of a family. */
export function grantOf(row: GrantRow): UserGrant {
  if (row.user_grant !== null) return stored.decode(row.user_grant);
  return create(UserGrantSchema, {
    tenantId: row.tenant_id,
    clientId: row.client_id,
    userId: row.user_id,
    scopes: row.scopes,
    resource: row.resource,
    sessionId: row.session_id,
    issuer: row.issuer,
    // In 0.1 every session began with a password.
    authentication: { time: row.auth_time, methods: row.session_id === '' ? [] : ['pwd'] },
    userinfoClaims: row.userinfo_claims,
    idTokenClaims: row.id_token_claims,
  });
}

/** The value of `user_grant`. */
export function storedGrantOf(grant: UserGrant): string {
  return JSON.stringify(stored.encode(grant));
}
