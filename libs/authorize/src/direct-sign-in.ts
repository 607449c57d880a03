import { OAuthError } from '@tessera/oauth';
import type { AuthorizeAudit } from './audit.ts';
import type { Visit } from './browser.ts';
import type { VerifyCredentials } from './credentials.ts';
import type { OpenedSession, Sessions } from './sessions.ts';

export interface DirectSignInAttempt {
  readonly tenantId: string;
  readonly identifier: string;
  readonly password: string;
}

/**
 * Signs a person in to a tenant, without an authorization request; undefined when the credentials are wrong.
 * Throws `invalid_request` when the browser is signed in to another tenant, before anything is checked.
 */
export type DirectSignIn = (visit: Visit, attempt: DirectSignInAttempt) => Promise<OpenedSession | undefined>;

export function createDirectSignIn(deps: {
  readonly sessions: Sessions;
  readonly verifyCredentials: VerifyCredentials;
  readonly audit: AuthorizeAudit;
}): DirectSignIn {
  const { sessions, verifyCredentials, audit } = deps;
  return async (visit, { tenantId, identifier, password }) => {
    const present = await sessions.find(visit.browser);
    if (present !== undefined && present.tenantId !== tenantId) {
      audit.tenantMismatch(visit, tenantId, '', present);
      throw new OAuthError('invalid_request', 'The session belongs to a different tenant.');
    }
    const verified = await verifyCredentials(visit, { tenantId, clientId: '', identifier, password });
    return verified === undefined ? undefined : sessions.open(visit, verified, '', present);
  };
}
