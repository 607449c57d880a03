import { normalizeIdentifier } from '@tessera/directory';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { Code, ConnectError, readPages } from '@tessera/rpc/caller';
import { orNotFound } from '../operate/records/with-service.ts';
import { CommandError } from '../terminal.ts';
import type { Imported } from './files/imported.ts';
import type { ReachedDirectory } from './reached-directory.ts';

/** A page of people fits into a message, whatever they are called. */
const pageSize = 250;

/** The tenant of an import, as it is before. */
export interface PresentTenant {
  readonly exists: boolean;
  /** Whether the import declares the tenant itself. */
  readonly isOurs: boolean;
  /** Its own issuer, as it is or as the import gives it; nothing at the shared issuer. */
  readonly own: { readonly issuer?: string; readonly endpoints?: string };
  /** Whether the import gives it another issuer. */
  readonly isMoved: boolean;
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
    if (present === undefined) return { exists: false, isOurs: true, own: {}, isMoved: false, roles: [] };
    const { found: roles } = await readPages(async (page) => {
      const answer = await clientOf(RolesService).list({ tenantId, ...page }, call);
      const found = answer.roles.map(({ name, owner: of }) => ({ name, owner: of }));
      return { found, nextPageToken: answer.nextPageToken };
    });
    const { issuer, endpoints } = present;
    return {
      exists: true,
      isOurs: tenantName !== undefined && present.owner === owner,
      own: issuer === '' ? {} : { issuer, endpoints },
      isMoved: false,
      roles,
    };
  });
}

/**
 * The tenant with the issuer that the import gives it, and Keycloak's paths. Throws CommandError if it is not the
 * import's.
 */
export function withIssuer(tenantId: string, present: PresentTenant, issuer: string): PresentTenant {
  if (present.own.issuer === issuer) return present;
  if (present.isOurs) return { ...present, own: { issuer, endpoints: 'keycloak' }, isMoved: true };
  throw new CommandError(
    `The tenant ${tenantId} is of another owner, and has another issuer. Give it that one first, with tessera tenant update, or leave out --issuer.`,
  );
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
 * @param declared normalized user names, and identifiers that people are given
 */
export async function readGonePeople(
  { tenantId, owner }: { readonly tenantId: string; readonly owner: string },
  declared: { readonly names: ReadonlySet<string>; readonly userIds: ReadonlySet<string> },
  directory: ReachedDirectory,
): Promise<GonePeople> {
  const usernames: string[] = [];
  let [hasPeople, next] = [false, ''];
  do {
    const pageToken = next;
    const page = await directory.call(async (clientOf, call) =>
      clientOf(UsersService).list({ tenantId, pageSize, pageToken }, call),
    );
    const own = page.users.filter((user) => user.owner === owner);
    hasPeople ||= own.length > 0;
    const gone = own.filter(
      ({ userId, username }) =>
        !declared.userIds.has(userId) && !declared.names.has(normalizeIdentifier(username)),
    );
    usernames.push(...gone.map(({ username }) => username));
    next = page.nextPageToken;
  } while (next !== '');
  return { usernames, hasPeople };
}
