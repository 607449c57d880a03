import { DirectoryService, type User } from '@tessera/proto-gen/directory';
import { UsersService, type CreatePasswordLinkResponse } from '@tessera/proto-gen/admin-users';
import type { CallOptions } from '@tessera/rpc';
import { issuerOf } from '../flow/flow-options.ts';
import type { ClientOf } from '../operate/records/with-service.ts';
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

/** The link as people open it, and when it expires. */
export function shownLink(
  { uri, expireTime }: Pick<CreatePasswordLinkResponse, 'uri' | 'expireTime'>,
  options: { readonly issuer?: string },
  terminal: Terminal,
): { readonly link: string; readonly expireTime: string } {
  const base = URL.parse(issuerOf(options, terminal));
  if (base === null) throw new CommandError('--issuer is not an address.', 2);
  return {
    link: new URL(uri, base).href,
    expireTime: new Date(Number(expireTime?.seconds ?? 0n) * 1000).toISOString(),
  };
}
