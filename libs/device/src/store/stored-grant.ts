import { userGrantFields } from '@tessera/oauth';
import { UserGrantSchema, type UserGrant } from '@tessera/proto-gen/oauth';
import { create, storedMessage } from '@tessera/rpc';
import type { NewDecision } from './decision-store.ts';

const stored = storedMessage(UserGrantSchema);

/** The columns of a decision that hold its grant. Those besides `user_grant`: compatibility until 0.3. */
export const grantColumns = `tenant_id, client_id, user_id, user_grant, scopes, resource,
    auth_time::float8 AS auth_time, session_id, issuer`;

export interface GrantRow {
  readonly tenant_id: string;
  readonly client_id: string;
  readonly user_id: string;
  /** Null from version 0.1. */
  readonly user_grant: Parameters<typeof stored.decode>[0] | null;
  readonly scopes: string[];
  readonly resource: string;
  readonly auth_time: number;
  readonly session_id: string;
  readonly issuer: string;
}

/** The grant of an approved request. */
export function grantOf(row: GrantRow): UserGrant {
  if (row.user_grant !== null) return stored.decode(row.user_grant);
  const { scopes, resource, issuer } = row;
  const who = { tenantId: row.tenant_id, clientId: row.client_id, userId: row.user_id };
  const flat = { ...who, scopes, resource, issuer, sessionId: row.session_id, authTime: row.auth_time };
  return create(UserGrantSchema, userGrantFields(flat));
}

/** The value of `user_grant`: null for a denial. */
export function storedGrantOf({
  decision,
  request,
  userId,
  sessionId,
  authentication,
}: NewDecision): string | null {
  if (decision !== 'approved') return null;
  const { tenantId, clientId, scopes, resource, issuer } = request;
  const who = { tenantId, clientId, userId, sessionId, authentication };
  const grant = create(UserGrantSchema, { ...who, scopes: [...scopes], resource, issuer });
  return JSON.stringify(stored.encode(grant));
}
