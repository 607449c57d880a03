import type { Session } from '../store/store.ts';
import type { CheckedRequest } from './request.ts';

export type NextStep = 'issue_code' | 'sign_in' | 'login_required' | 'tenant_mismatch';

/**
 * The step after the checks, depending on the browser's session (OIDC Core §3.1.2.1 and §3.1.2.3). A session of another
 * tenant is neither used nor replaced, whatever `prompt` says: the contract rejects the request.
 */
export function nextStep(
  request: Pick<CheckedRequest, 'prompt' | 'maxAge' | 'hintedUserId' | 'record'>,
  session: Session | undefined,
): NextStep {
  if (session !== undefined && session.tenantId !== request.record.tenant.tenantId) return 'tenant_mismatch';
  if (session !== undefined && serves(request, session)) return 'issue_code';
  return withoutSession(request);
}

/** The step for a browser without a usable session. */
export function withoutSession(request: Pick<CheckedRequest, 'prompt'>): 'sign_in' | 'login_required' {
  return request.prompt.has('none') ? 'login_required' : 'sign_in';
}

/** Whether the session belongs to the person of the `id_token_hint`, if there is one (OIDC Core §3.1.2.1). */
export function isHintedUser(
  { hintedUserId }: Pick<CheckedRequest, 'hintedUserId'>,
  { userId }: Pick<Session, 'userId'>,
): boolean {
  return hintedUserId === '' || hintedUserId === userId;
}

/**
 * Whether a session satisfies the request without a new sign-in. `consent` shows nothing: the tenant's own administrators
 * register its applications.
 */
function serves(
  request: Pick<CheckedRequest, 'prompt' | 'maxAge' | 'hintedUserId'>,
  session: Session,
): boolean {
  if (!isHintedUser(request, session)) return false;
  if (request.prompt.has('login') || request.prompt.has('select_account')) return false;
  return request.maxAge === undefined || session.authAge <= request.maxAge;
}
