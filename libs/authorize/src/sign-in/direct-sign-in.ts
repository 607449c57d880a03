import type { AuthorizeAudit } from '../audit.ts';
import type { Visit } from '../browser.ts';
import type { VerifyCredentials } from './password-check.ts';
import type { OpenedSession, Sessions } from '../sessions/sessions.ts';

export interface DirectSignInAttempt {
  readonly tenantId: string;
  readonly identifier: string;
  readonly password: string;
}

export type DirectSignInOutcome =
  | { readonly outcome: 'signed_in'; readonly opened: OpenedSession }
  | { readonly outcome: 'wrong_credentials' }
  /** The browser is signed in to another tenant; the credentials were not looked at. */
  | { readonly outcome: 'tenant_mismatch' };

/** Signs a person in to a tenant, without an authorization request. */
export type DirectSignIn = (visit: Visit, attempt: DirectSignInAttempt) => Promise<DirectSignInOutcome>;

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
      return { outcome: 'tenant_mismatch' };
    }
    const verified = await verifyCredentials(visit, { tenantId, clientId: '', identifier, password });
    if (verified === undefined) return { outcome: 'wrong_credentials' };
    return { outcome: 'signed_in', opened: await sessions.open(visit, verified, '', present) };
  };
}
