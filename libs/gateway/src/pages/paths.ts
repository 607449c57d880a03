/** Addresses of the pages on which people decide. */

/** `/device` with what of its query is given. */
export function devicePath(query: {
  readonly user_code: string | undefined;
  readonly proof?: string;
}): string {
  return withParameters('/device', query);
}

/** `/approvals`; the tenant says where to sign in while nobody is. */
export function approvalsPath(tenantId?: string): string {
  return withParameters('/approvals', { tenant: tenantId });
}

function withParameters(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}
