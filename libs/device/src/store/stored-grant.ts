import { UserGrantSchema, type UserGrant } from '@tessera/proto-gen/oauth';
import { create, storedMessage } from '@tessera/rpc';
import type { NewDecision } from './decision-store.ts';

const stored = storedMessage(UserGrantSchema);

/** `user_grant` of a decision; null of a denial. */
export type StoredGrant = Parameters<typeof stored.decode>[0] | null;

/** The grant of an approved request; undefined where none is stored. */
export function grantOf(userGrant: StoredGrant): UserGrant | undefined {
  return userGrant === null ? undefined : stored.decode(userGrant);
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
