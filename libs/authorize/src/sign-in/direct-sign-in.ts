import type { DirectoryClient } from '@tessera/directory-client';
import type { AuthorizeAudit } from '../audit.ts';
import type { BrowserCall } from '../browser.ts';
import type { CheckPassword } from './password-check.ts';
import type { OpenedSession, Sessions } from '../sessions/sessions.ts';

export interface DirectSignInAttempt {
  /** As the form has it: it may name no tenant. */
  readonly tenantId: string;
  readonly identifier: string;
  readonly password: string;
}

export type DirectSignInOutcome =
  | { readonly outcome: 'signed_in'; readonly opened: OpenedSession }
  | { readonly outcome: 'wrong_credentials' }
  /** The browser is signed in to another tenant; the password was not checked. */
  | { readonly outcome: 'tenant_mismatch' };

/** Signs a person in to a tenant, without an authorization request. */
export type DirectSignIn = (from: BrowserCall, attempt: DirectSignInAttempt) => Promise<DirectSignInOutcome>;

export function createDirectSignIn(deps: {
  readonly directory: Pick<DirectoryClient, 'hasTenant'>;
  readonly sessions: Sessions;
  readonly checkPassword: CheckPassword;
  readonly audit: AuthorizeAudit;
}): DirectSignIn {
  const { directory, sessions, checkPassword, audit } = deps;
  return async (from, { tenantId: claimed, identifier, password }) => {
    // Tenants that do not exist count as one: otherwise every invented name would have limits and audit rows of its own.
    const tenantId = (await directory.hasTenant(claimed, from.call.onward())) ? claimed : '';
    const present = await sessions.find(from);
    if (present !== undefined && present.tenantId !== tenantId) {
      audit.tenantMismatch(from, tenantId, '', present);
      return { outcome: 'tenant_mismatch' };
    }
    const verified = await checkPassword(from, { tenantId, clientId: '', identifier, password });
    if (verified === undefined) return { outcome: 'wrong_credentials' };
    return { outcome: 'signed_in', opened: await sessions.open(from, verified, '', present) };
  };
}
