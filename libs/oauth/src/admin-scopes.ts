import { adminAudience, serviceScopes } from './request/scopes.ts';

/**
 * What exists in every tenant without a declaration, for its administrators: an API resource with its scopes, roles
 * that limit what people may do with tokens for it, and the command line as an application.
 */

/** Its name, for people. */
export const adminResourceName = 'Tessera administration';

/** The kinds of records of the directory, in the names of their scopes and in what people are told about these. */
const kinds = {
  tenants: 'organizations',
  resources: 'APIs and their scopes',
  roles: 'roles',
  users: 'people',
  applications: 'applications and their secrets',
};

/** The scopes of the administration API, with what people are told about them. */
export const adminScopes: ReadonlyMap<string, string> = new Map([
  ...Object.entries(kinds).flatMap(([kind, said]): [string, string][] => [
    [`admin.${kind}.read`, `See ${said}`],
    [`admin.${kind}.write`, `Add, change and delete ${said}`],
  ]),
  [
    'admin.helpdesk.write',
    'Unlock people, send them links to set a password, reset their factors, lock them down',
  ],
  ['admin.keys.read', 'See the signing keys'],
  ['admin.keys.write', 'Rotate and withdraw signing keys'],
  ['admin.audit.read', 'See what happened, and who did it'],
  ['admin.sessions.read', 'See where people are signed in'],
  ['admin.sessions.write', 'Sign people out'],
  ['admin.grants.read', 'See what applications may do for people'],
  ['admin.grants.write', 'Revoke what applications may do for people'],
  ['admin.approvals.read', 'See what waits for the approval of people'],
  ['admin.approvals.write', 'Deny what waits for the approval of people'],
]);

const names = [...adminScopes.keys()];

/** The role of who may do everything. */
export const administratorRole = 'tessera.administrator';

/** The scopes that each built-in role lets a person use. */
export const adminRoles: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [administratorRole, new Set(names)],
  ['tessera.auditor', new Set(names.filter((name) => name.endsWith('.read')))],
  [
    'tessera.helpdesk',
    new Set([
      'admin.users.read',
      'admin.helpdesk.write',
      'admin.audit.read',
      'admin.sessions.read',
      'admin.sessions.write',
      'admin.grants.read',
      'admin.grants.write',
    ]),
  ],
]);

/** What the names of built-in roles and applications begin with. No tenant declares these, nor such audiences. */
export const builtInPrefix = 'tessera.';

/** The client id of the command line in a tenant; without one, in the operator tenant. */
export function commandLineClientId(tenantId?: string): string {
  return [`${builtInPrefix}cli`, ...(tenantId === undefined ? [] : [tenantId])].join('.');
}

/** The client id of the console in a tenant; without one, in the operator tenant. */
export function consoleClientId(tenantId?: string): string {
  return [`${builtInPrefix}console`, ...(tenantId === undefined ? [] : [tenantId])].join('.');
}

/** Where the pages of the console are, at its address. */
export const consolePaths = { base: '/console', callback: '/callback' } as const;

/**
 * Whether a name is one of what every tenant has without a declaration and gives a power: what comes from elsewhere
 * under such a name means something else. Identity scopes are none of these, as OpenID Connect names them.
 */
export const isBuiltIn: Readonly<Record<'role' | 'scope' | 'audience', (name: string) => boolean>> = {
  role: (name) => name.startsWith(builtInPrefix),
  scope: (name) => adminScopes.has(name) || serviceScopes.has(name),
  audience: (name) => name === adminAudience || name.startsWith(builtInPrefix),
};

/**
 * Whether an owner is one of these.
 * @param owners some of them the beginning of owners, ending in `*`
 * @param owner or the beginning of owners, ending in `*`
 */
export function isOwnerAmong(owners: readonly string[], owner: string): boolean {
  return owners.some(
    (known) => known === owner || (known.endsWith('*') && owner.startsWith(known.slice(0, -1))),
  );
}

/** What in `assignableBy` is no owner. */
const keywords: readonly string[] = ['tenant', 'owner'];

/** Whether a record of this owner gets what another one has from everybody who changes it. */
export function isAssignable(
  { owner: own, assignableBy }: { readonly owner: string; readonly assignableBy: readonly string[] },
  owner: string,
): boolean {
  return (
    assignableBy.includes('tenant') ||
    (assignableBy.includes('owner') && owner === own) ||
    isOwnerAmong(
      assignableBy.filter((named) => !keywords.includes(named)),
      owner,
    )
  );
}
