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

/** The pages of the account, by the names that forms carry. */
export const accountPaths = {
  overview: otherPaths.account,
  'sign-in': otherPaths.accountSignIn,
  devices: otherPaths.accountDevices,
  applications: otherPaths.accountApplications,
  activity: otherPaths.accountActivity,
  profile: otherPaths.accountProfile,
} as const;

export type AccountPageName = keyof typeof accountPaths;
export type AccountPath = (typeof accountPaths)[AccountPageName];

/**
 * The page of the account that has a name, else the overview. Compatibility until 0.4: forms of version 0.2 name none.
 */
export function accountPageNamed(name: string): AccountPageName {
  return Object.hasOwn(accountPaths, name) ? (name as AccountPageName) : 'overview';
}

/** A page of the account; the tenant says where to sign in. */
export function accountPath(tenantId?: string, page: AccountPageName = 'overview'): string {
  return withParameters(accountPaths[page], { tenant: tenantId });
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
