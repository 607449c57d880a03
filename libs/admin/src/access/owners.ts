import { isOwnerAmong } from '@tessera/oauth';
import { Code, ConnectError, invalidFields, type Principal } from '@tessera/rpc';

/** Whose the records are that are written one by one by who names nobody. */
export const apiOwner = 'api';

/** Everybody's. */
const everybody = '*';

/** Whether somebody may write records of everybody. */
export function writesAsAnybody({ owners = [] }: Pick<Principal, 'owners'>): boolean {
  return owners.includes(everybody);
}

/**
 * Whether somebody may write records of an owner.
 * @param owner or the beginning of owners, ending in `*`
 */
export function mayWriteAs({ owners = [] }: Pick<Principal, 'owners'>, owner: string): boolean {
  return isOwnerAmong(owners, owner);
}

/** Throws PermissionDenied, with their names, for owners whose records somebody may not write. */
export function requireOwners(owners: Iterable<string>, principal: Pick<Principal, 'owners'>): void {
  const others = [...new Set(owners)].filter((owner) => !mayWriteAs(principal, owner));
  if (others.length === 0) return;
  const named = others.map((owner) =>
    owner === everybody ? 'every owner' : `the owner ${JSON.stringify(owner)}`,
  );
  const own = (principal.owners ?? []).join(', ') || 'nobody';
  throw new ConnectError(
    `This writes records of ${named.join(', ')}: the access token may write those of ${own} alone. Its application says so in \`owners\`.`,
    Code.PermissionDenied,
  );
}

/**
 * As whom somebody writes a record: whom they name, else `api`, else the one whom they are bound to.
 * @param named empty for nobody
 * @throws PermissionDenied for one whose records they may not write; InvalidArgument if they name nobody and are bound
 * to several
 */
export function writerFor(named: string, principal: Pick<Principal, 'owners'>): string {
  const { owners = [] } = principal;
  const [only = ''] = owners.length === 1 ? owners : [];
  const usual = mayWriteAs(principal, apiOwner) ? apiOwner : only.endsWith('*') ? '' : only;
  const writer = named === '' ? usual : named;
  if (writer === '')
    throw invalidFields([{ field: 'owner', description: `is required: one of ${owners.join(', ')}` }]);
  requireOwners([writer], principal);
  return writer;
}
