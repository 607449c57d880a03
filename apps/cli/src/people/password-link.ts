import { DirectoryService, type User } from '@tessera/proto-gen/directory';
import { UsersService, type CreatePasswordLinkResponse } from '@tessera/proto-gen/admin-users';
import type { CallOptions } from '@tessera/rpc/caller';
import { orNotFound, withService, type ClientOf } from '../operate/records/with-service.ts';
import type { PersonOptions } from '../options.ts';
import { CommandError, type Terminal } from '../terminal.ts';

/** The calls of a run. */
export interface Callees {
  readonly clientOf: ClientOf;
  readonly call: CallOptions;
}

/** Makes a link; with `validateOnly` it only checks whether one may be made. */
export async function newPasswordLink(
  { clientOf, call }: Callees,
  request: {
    readonly tenantId: string;
    readonly userId: string;
    readonly purpose: 'invitation' | 'reset';
    readonly validateOnly?: boolean;
    /** Whether it goes to the person, and is not returned. */
    readonly mail?: boolean;
  },
): Promise<CreatePasswordLinkResponse> {
  return clientOf(UsersService).createPasswordLink(request, call);
}

/** Throws ConnectError if unknown. */
export async function userCalled(
  { clientOf, call }: Callees,
  tenantId: string,
  identifier: string,
): Promise<User | undefined> {
  return (await clientOf(DirectoryService).findUser({ tenantId, identifier }, call)).user;
}

/**
 * Changes the person that the options name, unless they only ask, and says `called` as they do. Throws CommandError.
 */
export async function withPerson<T>(
  options: PersonOptions & { readonly validateOnly?: boolean },
  terminal: Terminal,
  name: string,
  work: (callees: Callees, person: { readonly tenantId: string; readonly userId: string }) => Promise<T>,
): Promise<{ readonly called: string; readonly result: T }> {
  const { tenant: tenantId, username } = options;
  const called = options.userId ?? username;
  if (called === undefined)
    throw new CommandError('Name the person: as the argument or by --username or --user-id.', 2);
  const result = await withService('directory', terminal, {
    name,
    changes: options.validateOnly !== true,
    saysWhere: true,
    timeoutMs: 10_000,
    async run(clientOf, call) {
      const callees = { clientOf, call };
      const unknown = orNotFound(`There is no user ${called} in the tenant ${tenantId}.`);
      const userId =
        options.userId ?? (await userCalled(callees, tenantId, called).catch(unknown))?.userId ?? '';
      return work(callees, { tenantId, userId }).catch(unknown);
    },
  });
  return { called, result };
}

/** The link as people open it, and when it expires. */
export function shownLink(
  { uri, expireTime }: Pick<CreatePasswordLinkResponse, 'uri' | 'expireTime'>,
  issuer: string,
): { readonly link: string; readonly expireTime: string } {
  const base = URL.parse(issuer);
  if (base === null) throw new CommandError('--issuer is not an address.', 2);
  return {
    link: new URL(uri, base).href,
    expireTime: new Date(Number(expireTime?.seconds ?? 0n) * 1000).toISOString(),
  };
}
