import { normalizeIdentifier } from '@tessera/directory';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { Code, ConnectError, readPages } from '@tessera/rpc/caller';
import { orNotFound } from '../operate/records/with-service.ts';
import type { Imported } from './files/imported.ts';
import type { ReachedDirectory } from './reached-directory.ts';

/** A page of people fits into a message, whatever they are called. */
const pageSize = 250;

/** The tenant of an import, as it is before. */
export interface PresentTenant {
  readonly exists: boolean;
  /** Whether the import declares the tenant itself. */
  readonly isOurs: boolean;
  readonly roles: readonly { readonly name: string; readonly owner: string }[];
}

/** Reads the tenant. Throws CommandError if it must be there and is not. */
export async function readPresentTenant(
  tenantId: string,
  { tenantName, owner }: Pick<Imported, 'tenantName' | 'owner'>,
  directory: ReachedDirectory,
): Promise<PresentTenant> {
  return directory.call(async (clientOf, call) => {
    const present = await clientOf(TenantsService)
      .get({ tenantId }, call)
      .catch((error: unknown) =>
        tenantName === undefined ? orNotFound(`There is no tenant ${tenantId}.`)(error) : absent(error),
      );
    if (present === undefined) return { exists: false, isOurs: true, roles: [] };
    const { found: roles } = await readPages(async (page) => {
      const answer = await clientOf(RolesService).list({ tenantId, ...page }, call);
      const found = answer.roles.map(({ name, owner: of }) => ({ name, owner: of }));
      return { found, nextPageToken: answer.nextPageToken };
    });
    return { exists: true, isOurs: tenantName !== undefined && present.owner === owner, roles };
  });
}

function absent(error: unknown): undefined {
  if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
  throw error;
}

/** People of the owner whom an import no longer has. */
export interface GonePeople {
  readonly usernames: readonly string[];
  /** Whether the owner has people at all. */
  readonly hasPeople: boolean;
}

/**
 * Reads the people of a tenant page by page.
 * @param declared normalized user names
 */
export async function readGonePeople(
  { tenantId, owner }: { readonly tenantId: string; readonly owner: string },
  declared: ReadonlySet<string>,
  directory: ReachedDirectory,
): Promise<GonePeople> {
  const usernames: string[] = [];
  let [hasPeople, next] = [false, ''];
  do {
    const pageToken = next;
    const page = await directory.call(async (clientOf, call) =>
      clientOf(UsersService).list({ tenantId, pageSize, pageToken }, call),
    );
    const own = page.users.filter((user) => user.owner === owner).map(({ username }) => username);
    hasPeople ||= own.length > 0;
    usernames.push(...own.filter((username) => !declared.has(normalizeIdentifier(username))));
    next = page.nextPageToken;
  } while (next !== '');
  return { usernames, hasPeople };
}
