import { hash } from 'node:crypto';
import { opaqueValue } from '@tessera/kit';
import type { Random } from '@tessera/kit';
import type { CheckedRequest } from '../authorization/request.ts';
import type { Session } from '../store/store.ts';

const tokenShape = /^ts_[A-Za-z0-9_-]{43}$/;

/** The key of a session cookie's value; undefined for what cannot be one, before any store is asked. */
export function sessionTokenHash(sessionToken: string): Buffer | undefined {
  return tokenShape.test(sessionToken) ? hash('sha256', sessionToken, 'buffer') : undefined;
}

/** A new cookie value and, unrelated to it, a new `sid` (OIDC Front-Channel Logout §3). */
export function newSessionIdentity(random: Random): { sessionToken: string; sessionId: string } {
  return {
    sessionToken: opaqueValue('ts_', random),
    sessionId: random.bytes(16).toString('base64url'),
  };
}

export type NextStep = 'issue_code' | 'sign_in' | 'login_required' | 'tenant_mismatch';

/**
 * What comes after the checks, by the session of the browser (OIDC Core §3.1.2.1 and §3.1.2.3). A session of another
 * tenant is neither used nor replaced, whatever `prompt` says: the contract refuses.
 */
export function nextStep(
  request: Pick<CheckedRequest, 'prompt' | 'maxAge' | 'hintedUserId' | 'record'>,
  session: Session | undefined,
): NextStep {
  if (session !== undefined && session.tenantId !== request.record.tenant.tenantId) return 'tenant_mismatch';
  if (session !== undefined && serves(request, session)) return 'issue_code';
  return withoutSession(request);
}

/** The step for a browser in which nobody usable is signed in. */
export function withoutSession(request: Pick<CheckedRequest, 'prompt'>): 'sign_in' | 'login_required' {
  return request.prompt.has('none') ? 'login_required' : 'sign_in';
}

/** Whether the person is the one the client asks for, where it asks for one (OIDC Core §3.1.2.1, id_token_hint). */
export function isWanted(
  { hintedUserId }: Pick<CheckedRequest, 'hintedUserId'>,
  { userId }: Pick<Session, 'userId'>,
): boolean {
  return hintedUserId === '' || hintedUserId === userId;
}

/**
 * Whether a session answers the request without asking again. `consent` asks nothing: applications are registered by
 * the tenant's own administrators.
 */
function serves(
  request: Pick<CheckedRequest, 'prompt' | 'maxAge' | 'hintedUserId'>,
  session: Session,
): boolean {
  if (!isWanted(request, session)) return false;
  if (request.prompt.has('login') || request.prompt.has('select_account')) return false;
  return request.maxAge === undefined || session.authAge <= request.maxAge;
}
