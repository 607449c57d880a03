import { otherPaths } from '@tessera/oauth';
import { withParameters } from '@tessera/pages';

/** `/device` with what of its query is given. */
export function devicePath(query: {
  readonly user_code: string | undefined;
  readonly proof?: string;
}): string {
  return withParameters('/device', query);
}

/** `/approvals`; the tenant says where to sign in. */
export function approvalsPath(tenantId?: string): string {
  return withParameters('/approvals', { tenant: tenantId });
}

/** `/account`; the tenant says where to sign in. */
export function accountPath(tenantId?: string): string {
  return withParameters('/account', { tenant: tenantId });
}

/** `/password`; the tenant says where to sign in. */
export function passwordPath(tenantId?: string): string {
  return withParameters('/password', { tenant: tenantId });
}

/** `/password/link` without a link, for what became of one; the tenant says where to sign in. */
export function passwordLinkPath(tenantId: string): string {
  return withParameters(otherPaths.passwordLink, { tenant: tenantId });
}

/** `/password/forgot`; the tenant says whose people it is for, and `sent` that the request was made. */
export function forgottenPasswordPath(
  query: { readonly tenant?: string | undefined; readonly sent?: '1' } = {},
): string {
  return withParameters('/password/forgot', query);
}

/**
 * `/login` of a visit; `again` is its request (`carriedRequest`), which the page begins anew once the visit is over.
 */
export function loginPath(interaction: string, again?: string): string {
  return withParameters('/login', { interaction, again });
}

/** `/register`; the visit is the one to go on with, and `sent` says that the request was made. */
export function registrationPath(query: {
  readonly tenant?: string | undefined;
  readonly interaction?: string | undefined;
  readonly sent?: '1';
}): string {
  return withParameters('/register', query);
}
